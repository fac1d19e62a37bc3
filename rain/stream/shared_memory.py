"""Decides whether a new file of a governor's store is written to the disk or to shared memory.

A file on the disk is in the page cache, too, until the kernel writes it back, and it is made and
mapped faster there than in a memory file system, which has small pages only. But when much is
unwritten, the kernel writes back and slows the writers down. So files are made on the disk until
the kernel is about to write back, and then in shared memory while the governor has room there.
Files without room there are written to the disk after all, at the speed of the disk.

The governor publishes the room to its executors in a page that all of them map.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from struct import Struct

BOARD = "board"
"""The name of the page."""

LOOK_EVERY = 0.25
"""Seconds for which it is remembered how much the kernel has to write."""

_ROOM = Struct("<QQ")


class Board:
    """Says how large a new file in shared memory may be, and how much memory there is at all."""

    def __init__(self, path: str, *, new: bool = False) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if new else 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            if new:
                os.truncate(descriptor, mmap.PAGESIZE)
            self._page = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self._page.close()

    def write(self, room: int, memory: int) -> None:
        _ROOM.pack_into(self._page, 0, room, memory)

    def read(self) -> tuple[int, int]:
        room, memory = _ROOM.unpack_from(self._page)
        return room, memory


class Placing:
    """Chooses for the files of one process."""

    def __init__(
        self,
        board: Board,
        unwritten: Callable[[int], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._board = board
        self._before_writing = unwritten or before_writing
        self._clock = clock
        self._look_at = 0.0
        self._left = 0  # bytes that the kernel takes before it writes, as far as we know
        self._room: int = 0  # as it was told last
        self._used = 0  # of it, by files of which the governor has not heard yet

    def is_shared(self, size: int) -> bool:
        """Whether a new file of this size belongs in shared memory."""
        if self.is_cached(size):
            self._left -= size
            return False
        if size > self.room_left:
            return False
        self._used += size
        return True

    def is_cached(self, size: int) -> bool:
        """Whether the kernel keeps a new file of this size in memory although it is on the disk."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + LOOK_EVERY
            _, memory = self._board.read()
            self._left = self._before_writing(memory)
        return size <= self._left

    @property
    def room_left(self) -> int:
        """Bytes for further files in shared memory, as far as this process knows."""
        room, _ = self._board.read()
        if room != self._room:
            self._room, self._used = room, 0
        return room - self._used


def before_writing(memory: int) -> int:
    """The bytes that may be written to files before the kernel begins to write them back."""
    try:
        with open("/proc/vmstat", "rb") as file:  # noqa: PTH123 # pathlib starts slowly
            return left_of(file.read(), memory)
    except OSError:
        return 0


def left_of(text: bytes, memory: int) -> int:
    """The same, from the kernel's counts of pages. A control group is given a tenth of its memory,
    which is the kernel's own rule for a machine."""
    counts = dict(line.split() for line in text.splitlines())
    try:
        begins, dirty, writing = (
            int(counts[name]) * mmap.PAGESIZE
            for name in (b"nr_dirty_background_threshold", b"nr_dirty", b"nr_writeback")
        )
    except KeyError:  # a kernel that does not say it
        return 0
    if memory:
        begins = min(begins, memory // 10)
    return max(begins - dirty - writing, 0)
