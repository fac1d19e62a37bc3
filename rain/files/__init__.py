"""Files outside of the store, on disks and wherever fsspec reaches: finds, reads and publishes
them.

* `finding` makes a handle of each file that a pattern matches, or of each block of it.
* `file` is the handle, an argument of any call; `parts` reads the blocks.
* `publishing` writes files and directories that appear when they are complete: `local` on disks,
  `objects` in object stores.
* `values` saves the results of calls.
* `places` tells paths and URLs apart; `systems` is the only module that calls fsspec, and `errors`
  has Rain's exceptions for its failures.

fsspec is loaded with the first URL. It is not needed for files of this machine.
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
