"""Reads parts of files: ranges of bytes, extended to whole records.

A record belongs to the part in which its first byte lies. So parts that cover a file without a gap
have each record once, whatever their sizes are. Only the part itself is read, and a little behind
its edges.
"""

import io
from collections.abc import Callable
from typing import Any

ReadRange = Callable[[int, int], bytes]
"""Gives the bytes from a place to another one, as many as there are."""

LOOK = 64 * 1024
"""Bytes that are read at a time to find the end of a record."""

BUFFER = 4 * 1024 * 1024
"""Bytes that are read at a time of a part: one request of a store each."""


def edge(read: ReadRange, place: int, size: int, delimiter: bytes) -> int:
    """The begin of the first record that does not begin before this place."""
    if place <= 0 or place >= size or not delimiter:
        return min(max(place, 0), size)
    begin = max(place - len(delimiter), 0)
    seen = b""
    while begin + len(seen) < size:
        more = read(begin + len(seen), min(begin + len(seen) + LOOK, size))
        if not more:
            break
        searched = max(len(seen) - len(delimiter) + 1, 0)
        seen += more
        found = seen.find(delimiter, searched)
        if found >= 0:
            return begin + found + len(delimiter)
    return size


def open_part(
    read: ReadRange,
    start: int,
    stop: int,
    close: Callable[[], object] | None = None,
    buffer: int = BUFFER,
) -> io.BufferedReader:
    """A file object of these bytes; `close` is called when it is closed."""
    return io.BufferedReader(_Part(read, start, stop, close), buffer)


class _Part(io.RawIOBase):
    def __init__(
        self, read: ReadRange, start: int, stop: int, close: Callable[[], object] | None
    ) -> None:
        super().__init__()
        self._read = read
        self._close = close
        self._start = start
        self._stop = max(stop, start)
        self._at = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: self._start, io.SEEK_CUR: self._at, io.SEEK_END: self._stop}[whence]
        if base + offset < self._start:
            raise ValueError(f"cannot seek to {base + offset - self._start}")
        self._at = base + offset
        return self._at - self._start

    def tell(self) -> int:
        return self._at - self._start

    # Accepts any buffer, like the base class with its more complicated type.
    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._at + len(view), self._stop)
        if end <= self._at:
            return 0
        data = self._read(self._at, end)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed and self._close is not None:
            self._close()
        super().close()
