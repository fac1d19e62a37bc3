"""Lingering objects: stored objects that are not needed now, but that the next task may read.

Each is removed when its time is over. The oldest are removed earlier when there are too many, when
they are too large together, or when they use more than half of the remaining disk space.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rain.governor.core.nodes import DataObject

LINGERING_AT_MOST = 100
LINGERING_BYTES = 256 * 1024 * 1024


class Lingering:
    """When each lingering object expires; the order of insertion is the order of expiry."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.times: dict[DataObject, float] = {}
        self.bytes = 0  # of all of them together
        self.free = inf  # free bytes on the disk of the store when last checked
        self.expiry = inf  # the earliest expiry; read in every turn

    def add(self, target: DataObject, now: float) -> list[DataObject]:
        """Adds an object; returns those that must be removed to make room, perhaps this one."""
        if self._seconds <= 0:
            return [target]
        time = now + self._seconds
        if not self.times:
            self.expiry = time
        self.times[target] = time
        self.bytes += target.size
        return self.surplus()

    def surplus(self) -> list[DataObject]:
        """Returns the oldest objects, which must be removed now to keep within the limits."""
        limit = min(LINGERING_BYTES, self.free // 2)
        count, held = len(self.times), self.bytes
        going: list[DataObject] = []
        for target in self.times:
            if count <= LINGERING_AT_MOST and held <= limit:
                break
            going.append(target)
            count -= 1
            held -= target.size
        return going

    def due(self, now: float) -> list[DataObject]:
        """Returns the objects whose time is over."""
        going: list[DataObject] = []
        for target, time in self.times.items():
            if time > now:
                self.expiry = time
                return going
            going.append(target)
        self.expiry = inf
        return going

    def remove(self, target: DataObject) -> None:
        """Removes an object from the list: it is wanted again or removed from the store."""
        del self.times[target]
        self.bytes -= target.size

    def __contains__(self, target: DataObject) -> bool:
        return target in self.times

    def __len__(self) -> int:
        return len(self.times)
