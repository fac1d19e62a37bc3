"""Folders with the results of tasks, for later runs and for other clusters.

`plan` makes keys, `entries` is the form of an entry, `folder` finds, adds and removes entries,
`limits` keeps a folder small, `journal` says why there was no entry, `contents` has the digests of
files, and `places` says which folders are trusted. Many processes of several machines and users may
use one folder at the same time, without a lock: an entry appears whole, by one rename.
"""
