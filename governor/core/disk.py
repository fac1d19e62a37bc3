"""How many bytes of data a governor has in files, and how many it may have. No I/O.

All files of the store count, each once, also those that lie in shared memory: any of them may have
to leave it (see `tiers`). So the disk never has more than this. What may be there is the budget, or
what the file system still has room for, if others have filled it.

Above the mark, tasks that only add to it are held back (`back_pressure`). What lies between the
mark and the limit is for those that read data, so that it can go.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

MARK_TENTHS = 8
"""The part of the limit up to which tasks may fill it that free nothing."""

SMALL = 64 * 1024
"""Tasks that make fewer bytes of files are not held back for that."""


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
        """Up to here tasks may fill it that free nothing."""
        return self.limit * MARK_TENTHS // 10

    def has_room(self, size: int) -> bool:
        """Whether so much may come."""
        return not self.budget or self.used + size <= self.limit
