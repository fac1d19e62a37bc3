"""Virtual time: what is to be done, and when."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

FOREVER = float("inf")


class Timeline:
    """Actions by their time; those of one instant keep the order in which they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0

    def __bool__(self) -> bool:
        """Whether anything is to be done."""
        return bool(self._heap)

    @property
    def next_time(self) -> float:
        """When the next action is due."""
        return self._heap[0][0] if self._heap else FOREVER

    def at(self, time: float, action: Callable[[Any], None], subject: object) -> None:
        """Does something with the subject at that time."""
        self._count += 1
        heappush(self._heap, (time, self._count, action, subject))

    def after(self, delay: float, action: Callable[[Any], None], subject: object) -> None:
        """Does something with the subject after so long."""
        self.at(self.now + delay, action, subject)

    def run_due(self) -> None:
        """Does all that is due by now."""
        now, heap = self.now, self._heap
        while heap and heap[0][0] <= now:
            _, _, action, subject = heappop(heap)
            action(subject)
