"""The whole state of the server as a file, which a restarted server reads. Pure.

`saving` has `save` and `load`, and `leaving_out` says what is not saved, and why. Objects are found
by `writing` and made by `reading`, in one table for each class. `layouts` knows the fields of
classes, `shapes` makes columns of the values of any type, and `columns` packs plain values.
"""
