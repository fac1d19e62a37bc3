"""Keys under which results of calls are kept: stable digests of functions and arguments.

A pickle does not do: sets are pickled in another order in each process, and equal values in other
bytes when they share parts. `values` has digests that depend on what values are, `code` on what a
function does, and `plans` puts together what a task says of its key.
"""
