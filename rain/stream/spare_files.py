"""Files whose objects are gone, kept to be written over by the next large output.

For a new file the kernel has to find new pages, and to clear them in a memory file system. For a
deleted one it gives them back. Both together cost two to three times as much as to copy the data
into pages that are there. So a governor keeps some deleted files for a while, and an executor
writes its next large output over one of about the same size. A server does so with the uploads of
clients (`spare_uploads.py`).

An old object must never change under a reader. Two rules see to that:

* Only a file into which an executor or a client has written a value becomes spare, and only if it
  was not shown: it was not sent through a socket, and no program or task has its path. The pages of
  a file that was sent could still be in the queue of a socket, which the kernel does not report.
  The mark of a file that may become spare is its sticky bit, which every process sees.
* A file is written over only when it has no other name, and the kernel has granted a lease for
  writing. The kernel refuses that while any process has the file open or mapped.
"""

from __future__ import annotations

import fcntl
import itertools
import mmap
import os
import signal
import stat
from contextlib import suppress
from pathlib import Path

FOLDER = ".spare"
"""The folder of spare files, in the folder with the stored ones."""

LEAST = 1 << 20
"""Smaller files cost little."""

MARK = stat.S_ISVTX
"""The bit in the mode of a file that may become spare."""

_ANYBODY = 0o666
"""The mode of new files, from which the mask of the process is taken."""

_TIMES = 2
"""A spare file may be larger or smaller than the new one by this factor."""


def open_value_file(path: str, flags: int) -> int:
    """An opener for a file into which an executor writes a value. One that is there stays as it is.

    The file may become spare.
    """
    return os.open(path, flags & ~os.O_TRUNC, MARK | _ANYBODY)


def mark_shown(file: Path | int) -> None:
    """Marks a file that others than functions in executors may read. It never becomes spare."""
    # It has gone, or it is of another user and never becomes spare anyway.
    with suppress(FileNotFoundError, PermissionError):
        mode = os.stat(file).st_mode  # noqa: PTH116 # or a descriptor
        if stat.S_ISREG(mode) and mode & MARK:
            os.chmod(file, stat.S_IMODE(mode) & ~MARK)  # noqa: PTH101 # or a descriptor


class SpareFiles:
    """The spare files of one folder. A daemon keeps them, and others take them."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/{FOLDER}"
        self._numbers = itertools.count(1)
        self._most = 0

    # The daemon.

    @staticmethod
    def make(folder: str) -> SpareFiles | None:
        """Makes the folder for them, unless the kernel cannot tell there which files are in use."""
        made = SpareFiles(folder)
        os.mkdir(made._folder)  # noqa: PTH102 # pathlib starts slowly
        if made._can_tell():
            return made
        os.rmdir(made._folder)  # noqa: PTH106 # as above
        return None

    def allow(self, most: int) -> bool:
        """From now on there may be this many bytes. Returns whether `trim` has some to delete."""
        falls, self._most = most < self._most, most
        return falls and sum(size for size, _ in self._files()) > most

    def keep(self, path: Path, *, is_linked: bool = False) -> bool:
        """Takes a stored file, if it may be written over. Older spare files make way for it.

        `is_linked` says that others will soon remove further names of the file.
        """
        try:
            status = path.lstat()
        except FileNotFoundError:
            return False
        is_value = stat.S_ISREG(status.st_mode) and status.st_mode & MARK
        is_ours = status.st_uid == os.geteuid() and (is_linked or status.st_nlink == 1)
        if not is_value or not is_ours or not LEAST <= status.st_size <= self._most:
            return False
        self._leave(self._most - status.st_size)
        path.rename(self._path(status.st_size, next(self._numbers)))
        return True

    def trim(self) -> None:
        """Deletes the oldest files while there are too many bytes."""
        self._leave(self._most)

    # Those that take them.

    def take(self, size: int, path: str) -> bool:
        """Moves a file of about this size to a path, where it can be written over."""
        while nearest := self._nearest(size):
            try:
                os.rename(self._path(*nearest), path)  # noqa: PTH104 # as above
            except FileNotFoundError:
                continue  # another executor was faster
            if is_unused(path):
                return True
            os.unlink(path)  # noqa: PTH108 # as above
        return False

    def make_way(self, room: int) -> None:
        """Deletes the oldest files until they fit into this room."""
        self._leave(room)

    # Both.

    def _leave(self, most: int) -> None:
        files = sorted(self._files(), key=lambda file: file[1])
        total = sum(size for size, _ in files)
        for size, number in files:
            if total <= most:
                return
            with suppress(FileNotFoundError):  # an executor has taken it meanwhile
                os.unlink(self._path(size, number))  # noqa: PTH108 # as above
            total -= size

    def _nearest(self, size: int) -> tuple[int, int] | None:
        fitting = [file for file in self._files() if size <= _TIMES * file[0] <= _TIMES**2 * size]
        return min(fitting, key=lambda file: abs(file[0] - size), default=None)

    def _files(self) -> list[tuple[int, int]]:
        """The size and the number of each; a higher number is younger."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 # as above
        except FileNotFoundError:  # the kernel cannot tell what is in use here
            return []
        parts = (name.partition("-") for name in names)
        return [(int(size), int(number)) for size, _, number in parts]

    def _path(self, size: int, number: int) -> str:
        return f"{self._folder}/{size}-{number}"

    def _can_tell(self) -> bool:
        """Whether a lease is refused while a file is mapped, and only then."""
        path = self._path(mmap.PAGESIZE, 0)
        with open(path, "xb") as file:  # noqa: PTH123 # as above
            file.truncate(mmap.PAGESIZE)
        with open(path, "rb") as file:  # noqa: PTH123 # as above
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with mapped:
            is_refused = not is_unused(path)
        is_granted = is_unused(path)
        os.unlink(path)  # noqa: PTH108 # as above
        return is_refused and is_granted


def is_unused(path: str) -> bool:
    """Whether no process has this file open or mapped, and it has no other name.

    Makes it writable for its owner.
    """
    status = os.stat(path)  # noqa: PTH116 # as above
    if status.st_nlink > 1:
        return False
    os.chmod(path, stat.S_IMODE(status.st_mode) | stat.S_IWUSR)  # noqa: PTH101 # as above
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        # If somebody opened it just now, the kernel would send this signal, which does nothing.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:  # it is in use, or there are no leases here
        return False
    finally:
        os.close(descriptor)
    return True
