"""Files anywhere that fsspec reaches: found by patterns, read by tasks, published whole.

* `finding` makes a handle of each file that a pattern matches, or of each block of it.
* `file` is the handle, an argument of any call; `parts` reads the blocks.
* `publishing` writes files and directories so that nobody sees half of one: `local` does it on
  disks, `objects` in object stores.
* `values` saves the results of calls.
* `places` tells paths and URLs apart; `systems` is the border to fsspec, and `errors` has its
  failures in Rain's words.

fsspec is loaded with the first URL. Files of this machine do without it.
"""

from rain.files.errors import (
    AccessError,
    ChangedFileError,
    FileExistsAlready,
    FilesError,
    MissingFileError,
    MissingPackageError,
    UnreachableStoreError,
)
from rain.files.file import File
from rain.files.finding import open_files
from rain.files.publishing import create_file, save_path

__all__ = [
    "AccessError",
    "ChangedFileError",
    "File",
    "FileExistsAlready",
    "FilesError",
    "MissingFileError",
    "MissingPackageError",
    "UnreachableStoreError",
    "create_file",
    "open_files",
    "save_path",
]
