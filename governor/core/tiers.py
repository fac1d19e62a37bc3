"""Tracks the stored files in shared memory, and chooses which of them move to the disk. No I/O.

Files come here when they are made (`rain.stream.shared_memory` says which) and leave when no object
uses them. When they exceed a high-water mark, the least recently used ones are copied to the disk
until they are below a low-water mark. Files that no task here will read go first. Files of running
tasks are pinned, because these tasks know their paths. A copy takes a while. If its file is pinned,
or no longer needed, when the copy is complete, the file stays where it is.

A file that has gone to the disk does not come back. Its readers map it there, and the kernel keeps
its pages for all of them as long as it has memory, which it cannot take away from shared memory.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import TYPE_CHECKING

from attrs import Factory, define

from rain.base.executor_protocol import SHARED

if TYPE_CHECKING:
    from rain.governor.core.nodes import DataObject

HIGH_TENTHS = 8
LOW_TENTHS = 6
"""Above the high mark files are copied to the disk, until the low mark is reached."""

KEPT_FREE_TENTHS = 1
"""How much of the memory of the machine is left to others, whatever the budget."""

RETRY_AFTER = 5.0
"""Seconds until a copy is tried again, after the disk was full."""


@define(eq=False)
class Shared:
    """One file in shared memory, and the objects whose content it is."""

    size: int
    objects: list[DataObject] = Factory(list)

    def is_awaited(self) -> bool:
        """Whether a live task here reads it."""
        return any(target.consumers for target in self.objects)


class Tiers:
    """The files in shared memory, the least recently used first."""

    def __init__(self, budget: int = 0, memory: int = 0) -> None:
        self.budget = budget
        self.memory = memory  # of the machine or its control group
        self.files: dict[int, Shared] = {}
        self.used = 0
        self.copied: dict[int, int] = {}  # files that are being copied, with their sizes
        self.copied_bytes = 0
        self.limit = budget  # what may be used now
        self._retry_at = -inf

    # What lies here.

    def hold(self, file: int, size: int, target: DataObject) -> None:
        """An object has this content, which lies here if it was made here and has not left."""
        held = self.files.get(file)
        if held is None:
            held = self.files[file] = Shared(size)
            self.used += size
        held.objects.append(target)

    def use(self, file: int) -> None:
        """A task reads it."""
        held = self.files.pop(file, None)
        if held is not None:
            self.files[file] = held

    def let_go(self, file: int, target: DataObject) -> None:
        """An object does not have this content any more; does nothing for what is on the disk."""
        held = self.files.get(file)
        if held is not None:
            held.objects.remove(target)
            if not held.objects:
                del self.files[file]
                self.used -= held.size
                self._retry_at = -inf

    # How much may.

    def set_available(self, available: float) -> None:
        """The machine has `available` bytes of memory left."""
        reserve = self.memory * KEPT_FREE_TENTHS // 10
        self.limit = int(min(self.budget, max(self.used + available - reserve, 0)))

    @property
    def room(self) -> int:
        """How much more may come."""
        return max(self.limit - self.used, 0)

    def is_over(self) -> bool:
        """Whether files must leave."""
        return self.used - self.copied_bytes > self.limit * HIGH_TENTHS // 10

    # What leaves.

    def leaving(self, pinned: Collection[int], now: float) -> list[int]:
        """The files to be copied to the disk now; they count as being copied."""
        if now < self._retry_at:
            return []
        surplus = self.used - self.copied_bytes - self.limit * LOW_TENTHS // 10
        free = [file for file in self.files if file not in pinned and file not in self.copied]
        free.sort(key=lambda file: self.files[file].is_awaited())  # else the order stays
        chosen: list[int] = []
        for file in free:
            if surplus <= 0:
                break
            size = self.files[file].size
            self.copied[file] = size
            self.copied_bytes += size
            surplus -= size
            chosen.append(file)
        return chosen

    def complete(self, file: int, pinned: Collection[int]) -> bool:
        """A copy is complete: whether its file leaves, or else the copy is not wanted any more."""
        self._copied(file)
        held = self.files.get(file)
        if held is None or file in pinned:
            return False
        del self.files[file]
        self.used -= held.size
        return True

    def failed(self, file: int, now: float) -> None:
        """A copy could not be made: the disk is full."""
        self._copied(file)
        self._retry_at = now + RETRY_AFTER

    def _copied(self, file: int) -> None:
        self.copied_bytes -= self.copied.pop(file)


def is_shared(content: object) -> bool:
    """Whether a content is a file that was made in shared memory."""
    return type(content) is int and bool(content & SHARED)
