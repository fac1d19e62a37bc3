"""Virtual time: a queue of actions with their times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Any

FOREVER = inf


class Timeline:
    """Actions sorted by time; actions of the same instant keep the order of their creation."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0

    def __bool__(self) -> bool:
        """Whether any action is left."""
        return bool(self._heap)

    @property
    def next_time(self) -> float:
        """When the next action is due."""
        return self._heap[0][0] if self._heap else FOREVER

    def at(self, time: float, action: Callable[[Any], None], subject: object) -> None:
        """Schedules an action on the subject at that time."""
        self._count += 1
        heappush(self._heap, (time, self._count, action, subject))

    def after(self, delay: float, action: Callable[[Any], None], subject: object) -> None:
        """Schedules an action on the subject after a delay."""
        self.at(self.now + delay, action, subject)

    def run_due(self) -> None:
        """Runs all actions that are due."""
        now, heap = self.now, self._heap
        while heap and heap[0][0] <= now:
            _, _, action, subject = heappop(heap)
            action(subject)
