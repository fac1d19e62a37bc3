"""Counts the bytes of data that a governor has in files, and limits them. No I/O.

All files of the store count, each once. Files in shared memory count, too, because they may have to
move to the disk (see `tiers`). So the disk never has more bytes than this. The limit is the budget,
or the room that the file system has left, if others have filled it.

Above the mark, tasks that only add data are held back (`back_pressure`). The room between the mark
and the limit is for tasks that read data, which can be removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

MARK_TENTHS = 8
"""The part of the limit that tasks which free nothing may fill."""

SMALL = 64 * 1024
"""Tasks that make fewer bytes of files are not held back."""


class Disk:
    """The files of a store, by their numbers. A budget of 0 means that nothing is counted.

    If it `spills`, files that were used last come last.
    """

    def __init__(self, budget: int = 0, *, spills: bool = False) -> None:
        self.budget = budget
        self.spills = spills  # to a far store (see `offloading`)
        self.limit = budget
        self.used = 0
        self.sizes: dict[int, int] = {}
        self.going: set[int] = set()  # those of them that no object has any more

    def hold(self, file: int, size: int) -> None:
        """An object has this file; others may have it, too."""
        if file not in self.sizes:
            self.sizes[file] = size
            self.used += size

    def use(self, file: int) -> None:
        """A task reads it."""
        if self.spills:
            self.sizes[file] = self.sizes.pop(file)

    def let_go(self, file: int) -> bool:
        """No object has this file any more. Says whether `deleted` must be told when it is gone.

        What comes next may need the very room, unless there is much.
        """
        if self.budget and self.used > self.limit - self.mark and file in self.sizes:
            self.going.add(file)
            return True
        self.used -= self.sizes.pop(file, 0)
        return False

    def deleted(self, files: Iterable[int]) -> None:
        """These files are gone."""
        for file in files:
            self.going.remove(file)
            self.used -= self.sizes.pop(file)

    def set_free(self, free: float, shared: int) -> None:
        """The file system has `free` bytes left, and `shared` bytes of the files lie elsewhere."""
        room = self.budget if free == inf else self.used - shared + int(free)
        self.limit = min(self.budget, room)

    @property
    def mark(self) -> int:
        """The bytes up to which tasks that free nothing may fill the disk."""
        return self.limit * MARK_TENTHS // 10

    def never_has(self, size: int) -> bool:
        """Whether so much can never come, even if all else has gone."""
        return 0 < self.budget < size

    def has_room(self, size: int) -> bool:
        """Whether this number of bytes has room."""
        return not self.budget or self.used + size <= self.limit
