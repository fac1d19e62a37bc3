"""Files that are read where they are: the pages of the system's cache, seen as memory."""

import mmap
import os
from pathlib import Path
from typing import Self


class Mapping(mmap.mmap):
    """The bytes of a file, for reading. It may be removed meanwhile, but nobody may change it."""

    descriptor: int

    def __new__(cls, descriptor: int, length: int) -> Self:
        made = super().__new__(cls, descriptor, length, access=mmap.ACCESS_READ)
        made.descriptor = os.dup(descriptor)  # the one that mmap keeps for itself is not told
        return made

    def __del__(self) -> None:
        os.close(self.descriptor)

    def private(self) -> memoryview:
        """The same bytes once more, to be changed: a page is copied when it is written to."""
        return _private(self.descriptor, len(self))


def map_file(path: Path) -> memoryview:
    """The bytes of a file, for reading."""
    with path.open("rb") as file:
        return map_descriptor(file.fileno(), os.fstat(file.fileno()).st_size)


def map_descriptor(descriptor: int, length: int) -> memoryview:
    """The bytes of an open file, for reading; the descriptor stays the caller's."""
    return memoryview(Mapping(descriptor, length) if length else b"")


def map_privately(path: Path) -> memoryview:
    """The bytes of a file, to be changed by nobody else, and without a trace in the file."""
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        return _private(file.fileno(), length) if length else memoryview(bytearray())


def own_bytes(view: memoryview) -> memoryview | None:
    """What may be changed in the place of this view, without a copy of the whole.

    The view itself if it may; a private look at its file if it shows a whole one.
    """
    if not view.readonly:
        return view
    mapping = view.obj
    if isinstance(mapping, Mapping) and len(mapping) == view.nbytes:
        return mapping.private()
    return None


def _private(descriptor: int, length: int) -> memoryview:
    return memoryview(mmap.mmap(descriptor, length, access=mmap.ACCESS_COPY))
