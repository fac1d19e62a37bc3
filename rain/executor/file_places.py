"""Where an executor writes a large output: over a spare file, on the disk or in shared memory."""

from __future__ import annotations

import itertools

from rain.stream.shared_memory import BOARD, Board, Placing
from rain.stream.spare_files import SpareFiles

_numbers = itertools.count(1)


class FilePlaces:
    """Chooses paths in the two folders of an executor, on the disk and in shared memory."""

    def __init__(self, data: str, shared: str, on_disk: str, in_memory: str) -> None:
        self._placing = Placing(Board(f"{shared}/{BOARD}"))
        self._on_disk = on_disk
        self._in_memory = in_memory
        self._spare_on_disk = SpareFiles(data)
        self._spare_in_memory = SpareFiles(shared)

    def spare(self, size: int) -> str | None:
        """A file of about this size that can be written over, if a new one would cost more.

        A new file that the kernel keeps in memory although it is on the disk costs less, to write
        and to read, than an old one in shared memory, which has small pages.
        """
        number = next(_numbers)
        path = f"{self._on_disk}/over-{number}"
        if self._spare_on_disk.take(size, path):
            return path
        path = f"{self._in_memory}/over-{number}"
        if not self._placing.is_cached(size) and self._spare_in_memory.take(size, path):
            return path
        return None

    def new_in_memory(self, size: int) -> str | None:
        """The path of a new file, if it belongs in shared memory. Spare files make way for it."""
        if not self._placing.is_shared(size):
            return None
        self._spare_in_memory.make_way(self._placing.room_left)
        return f"{self._in_memory}/{next(_numbers)}"
