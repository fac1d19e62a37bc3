"""What lingers: stored objects that nobody needs, but that the next task may ask for.

They go one after the other when their time is over, and earlier, the oldest first, when they are
too many, too large together, or take more than half of the disk that is left.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rain.governor.nodes import DataObject

LINGERING_AT_MOST = 100
LINGERING_BYTES = 256 * 1024 * 1024


class Lingering:
    """When each lingering object goes; the order of insertion is the order of the times."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.times: dict[DataObject, float] = {}
        self.bytes = 0  # of all of them together
        self.free = inf  # bytes that the disk of the store has left, at the last look
        self.expiry = inf  # none of them goes before; asked for in every turn

    def add(self, target: DataObject, now: float) -> list[DataObject]:
        """One more; returns those that must go for it, which may be itself."""
        if self._seconds <= 0:
            return [target]
        time = now + self._seconds
        if not self.times:
            self.expiry = time
        self.times[target] = time
        self.bytes += target.size
        return self.surplus()

    def surplus(self) -> list[DataObject]:
        """The oldest ones that must go now."""
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
        """Those whose time is over."""
        going: list[DataObject] = []
        for target, time in self.times.items():
            if time > now:
                self.expiry = time
                return going
            going.append(target)
        self.expiry = inf
        return going

    def remove(self, target: DataObject) -> None:
        """It is wanted again, or goes."""
        del self.times[target]
        self.bytes -= target.size

    def __contains__(self, target: DataObject) -> bool:
        return target in self.times

    def __len__(self) -> int:
        return len(self.times)
