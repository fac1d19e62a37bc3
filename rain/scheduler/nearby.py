"""Finds the governors that are near to files outside of the store (see rain/base/near.py)."""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.near import Near
from rain.graph import Governor, Task


class Nearby:
    """The governors of a cluster by the names of their places; made when a task asks first."""

    def __init__(self, governors: Iterable[Governor]) -> None:
        self._governors = governors
        self._at: dict[str, dict[Governor, None]] | None = None

    def governors(self, near: Near) -> tuple[Governor, ...]:
        """Those at one of the places, each once."""
        if self._at is None:
            self._at = {}
            for governor in self._governors:
                for name in _names(governor):
                    self._at.setdefault(name, {})[governor] = None
        found: dict[Governor, None] = {}
        for place in near.places:
            found |= self._at.get(place, {})
        return tuple(found)

    def add_bytes(self, task: Task, local: dict[Governor, int]) -> None:
        """Counts what the task reads from outside as held by the governors that are near."""
        for near in task.kind.near:
            for governor in self.governors(near):
                local[governor] = local.get(governor, 0) + near.size


def _names(governor: Governor) -> list[str]:
    address = governor.address
    return [address, address.rpartition(":")[0], *(name for name, _ in governor.offered.others)]
