"""The body of an answer, from memory, from files, or from several of both.

A body is sent as it is, from files inside the kernel, or block by block (`blocks`). A body is never
loaded into memory as a whole.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Protocol

from attrs import frozen

from rain.stream import sockets
from rain.stream.sockets import BrokenError, Connected, Note
from rain.stream.spare_files import mark_shown

SENT_TOGETHER = 256 * 1024
"""Bytes of small pieces that leave with one call, and the smallest piece that leaves alone."""


class Body(Protocol):
    """Bytes that can be read from any place on."""

    @property
    def length(self) -> int: ...

    def fill(self, target: memoryview, start: int, /) -> None:
        """Copies the bytes from a place on into memory; there are enough."""
        ...

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        """Sends some of the bytes as they are."""
        ...


@frozen
class OfMemory:
    """Bytes in memory."""

    data: bytes | memoryview

    @property
    def length(self) -> int:
        return len(self.data)

    def fill(self, target: memoryview, start: int, /) -> None:
        target[:] = self.data[start : start + len(target)]

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        data = memoryview(self.data)[start : start + length]
        if note is None:
            sockets.send(connected, data)
        else:
            sockets.send_noting(connected, data, note)


@frozen
class OfFile:
    """A part of an open file."""

    descriptor: int
    begin: int
    length: int

    def fill(self, target: memoryview, start: int, /) -> None:
        if os.preadv(self.descriptor, [target], self.begin + start) < len(target):
            raise BrokenError("a file became shorter while it was sent")

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        mark_shown(self.descriptor)  # its pages may be in the queue of the socket for a while
        sockets.send_file(connected, self.descriptor, self.begin + start, length, note)


@frozen
class OfPath:
    """A file that is opened only while it is sent: there may be many of them."""

    path: Path
    length: int

    def fill(self, target: memoryview, start: int, /) -> None:
        with self._open() as file:
            OfFile(file.fileno(), 0, self.length).fill(target, start)

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        with self._open() as file:
            OfFile(file.fileno(), 0, self.length).send(connected, start, length, note)

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise BrokenError(f"a file cannot be sent: {error}") from None


@frozen
class Zeros:
    """What fills up the blocks of an archive."""

    length: int

    def fill(self, target: memoryview, start: int, /) -> None:
        target[:] = bytes(len(target))

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        OfMemory(bytes(length)).send(connected, 0, length, note)


class Joined:
    """Several bodies, one behind the other."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        self._bodies = bodies
        self._starts = [0, *accumulate(body.length for body in bodies)]

    @property
    def length(self) -> int:
        return self._starts[-1]

    def fill(self, target: memoryview, start: int, /) -> None:
        done = 0
        for body, begin, length in self._within(start, len(target)):
            body.fill(target[done : done + length], begin)
            done += length

    def send(
        self, connected: Connected, start: int, length: int, note: Note | None = None, /
    ) -> None:
        small = memoryview(bytearray(min(length, SENT_TOGETHER)))
        filled = done = 0
        for body, begin, size in self._within(start, length):
            if filled and filled + size > len(small):
                sockets.send(connected, small[:filled])
                filled = 0
            if size >= SENT_TOGETHER:
                body.send(connected, begin, size)
            else:
                body.fill(small[filled : filled + size], begin)
                filled += size
            done += size
            if note is not None:
                note(done)
        if filled:
            sockets.send(connected, small[:filled])

    def _within(self, start: int, length: int) -> Iterator[tuple[Body, int, int]]:
        """What of which bodies lies between two places."""
        end = start + length
        place = bisect_right(self._starts, start) - 1
        while start < end:
            stop = min(self._starts[place + 1], end)
            if stop > start:
                yield self._bodies[place], start - self._starts[place], stop - start
            start = stop
            place += 1
