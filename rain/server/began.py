"""Estimates the start times of tasks for which a governor reports only the end. No I/O.

A governor reports many short tasks together, in the order of their ends, with their durations. If
all of them had ended now, more would have run at once than there are cpus. So they are laid out
backwards from now, on as many lanes as tasks can run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace


def starts(now: float, seconds: Sequence[float], lanes: int) -> list[float]:
    """The start of each task, so that at most `lanes` of them overlap."""
    if len(seconds) <= lanes:
        return [now - each for each in seconds]
    free = [-now] * lanes  # the time before which each lane is free, negated, the latest first
    heapify(free)
    found: list[float] = []
    for each in reversed(seconds):
        start = -free[0] - each
        found.append(start)
        heapreplace(free, -start)
    found.reverse()
    return found
