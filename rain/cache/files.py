"""Files and folders of entries: linked where that works, else copied."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rain.base import modes
from rain.stream.copying import copy_bytes

_WRITE = 0o222


def put(source: Path, target: Path, rights: int | None) -> None:
    """Makes a file or folder at the target with the content of the source.

    Without `rights` its files are links to those of the source, if both are on one filesystem.
    Else they are copies with these rights, and nobody may write to them.
    """
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir()
        for entry in source.iterdir():
            put(entry, target / entry.name, rights)
        if rights is not None:
            target.chmod(_of_folder(rights))
    elif rights is not None or not _link(source, target):
        _copy(source, target, 0o400 if rights is None else rights)


def _of_folder(rights: int) -> int:
    """Users who may read a file may enter a folder."""
    return rights | (rights & 0o444) >> 2


def _link(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # another filesystem, one without links, or a file of another user
        return False
    return True


def _copy(source: Path, target: Path, rights: int) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        status = os.fstat(read.fileno())
        copy_bytes(read.fileno(), written.fileno(), status.st_size)
        executable = (rights & 0o444) >> 2 if status.st_mode & modes.ANY_EXECUTE else 0
        os.fchmod(written.fileno(), rights & ~_WRITE | executable)


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files of a folder."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return status.st_size
    return sum(size_of(entry) for entry in path.iterdir())
