"""When tasks have begun of which a governor tells only that they have finished. Pure.

A governor tells of many short tasks together, in the order of their ends, and how long each of them
took. If all had ended just now, more of them would have run at a time than there are cpus. So they
are laid out backwards from now, on as many lanes as there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace


def starts(now: float, seconds: Sequence[float], lanes: int) -> list[float]:
    """The start of each; no more of them overlap than there are lanes."""
    if len(seconds) <= lanes:
        return [now - each for each in seconds]
    free = [-now] * lanes  # until when each lane is free, the latest first
    heapify(free)
    found: list[float] = []
    for each in reversed(seconds):
        start = -free[0] - each
        found.append(start)
        heapreplace(free, -start)
    found.reverse()
    return found
