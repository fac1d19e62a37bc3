"""Writes files to the far store and reads them, piece by piece, with checksums; see `far_store`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from zlib import crc32

from attrs import frozen

from rain.stream.archive import Writable


@frozen
class Written:
    """The bytes that were written under a number."""

    size: int
    checksum: int
    files: Mapping[str, tuple[int, int]] | None = None  # of a directory (see `Archive.places`)


class Target:
    """A file of the far store that is being written: counts and sums up what it gets."""

    def __init__(self, file: Writable, before_each: Callable[[], object]) -> None:
        self._file = file
        self._before_each = before_each  # may raise what ends the copy
        self.written = self.checksum = 0

    def write(self, data: bytes) -> None:
        self._before_each()
        self._file.write(data)
        self.checksum = crc32(data, self.checksum)
        self.written += len(data)


class Coming(io.RawIOBase):
    """Pieces of a file as a file that can be read once."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    # Accepts any buffer, like the base class with its more complicated type.
    def readinto(self, buffer: Any, /) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count
