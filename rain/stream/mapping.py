"""Maps stored files into memory."""

import mmap
import os
import stat
from pathlib import Path
from typing import Self

from rain.stream.protocol import SharedPlace


class Mapping(mmap.mmap):
    """A read-only map of a file. The file may be removed meanwhile, but it must not change."""

    descriptor: int

    def __new__(cls, descriptor: int, length: int) -> Self:
        made = super().__new__(cls, descriptor, length, access=mmap.ACCESS_READ)
        made.descriptor = os.dup(descriptor)  # mmap does not expose its own descriptor
        return made

    def __del__(self) -> None:
        os.close(self.descriptor)

    def private(self) -> memoryview:
        """A private copy-on-write map of the same bytes."""
        return _private(self.descriptor, len(self))


def map_file(path: Path) -> memoryview:
    """Maps a file for reading."""
    with path.open("rb") as file:
        return map_descriptor(file.fileno(), os.fstat(file.fileno()).st_size)


def map_descriptor(descriptor: int, length: int) -> memoryview:
    """Maps an open file for reading; the caller keeps the descriptor."""
    return memoryview(Mapping(descriptor, length) if length else b"")


def map_privately(path: Path) -> memoryview:
    """Maps a file copy-on-write; changes are private and do not reach the file."""
    with path.open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        return _private(file.fileno(), length) if length else memoryview(bytearray())


def map_region(descriptor: int, offset: int, length: int) -> memoryview:
    """Maps a part of an open file copy-on-write; the caller keeps the descriptor.

    The kernel begins to read this part, and nothing around it. By itself it would read as much
    around each page as it reads ahead, which is up to 8 MiB: many times a piece of a shuffle.
    """
    before = offset % mmap.ALLOCATIONGRANULARITY
    whole = mmap.mmap(descriptor, before + length, access=mmap.ACCESS_COPY, offset=offset - before)
    whole.madvise(mmap.MADV_RANDOM)
    os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_WILLNEED)
    return memoryview(whole)[before:]


def open_same(place: SharedPlace) -> int | None:
    """Opens a stored file, if the path leads to it from here too."""
    try:
        descriptor = os.open(place.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # another user's, or in a container
        return None
    status = os.fstat(descriptor)
    is_same = (status.st_dev, status.st_ino) == (place.device, place.inode)
    if is_same and stat.S_ISREG(status.st_mode):
        return descriptor
    os.close(descriptor)
    return None


def own_bytes(view: memoryview) -> memoryview | None:
    """Returns a writable version of this view without copying it.

    That is the view itself if it is writable, or a private map if it shows a whole mapped file.
    """
    if not view.readonly:
        return view
    mapping = view.obj
    if isinstance(mapping, Mapping) and len(mapping) == view.nbytes:
        return mapping.private()
    return None


def _private(descriptor: int, length: int) -> memoryview:
    return memoryview(mmap.mmap(descriptor, length, access=mmap.ACCESS_COPY))
