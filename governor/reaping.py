"""Chooses the idle executors to end. An unused process still holds memory, and perhaps a gpu."""

from __future__ import annotations

from collections.abc import Iterable

from rain.governor.nodes import Executor

IDLE_SECONDS = 60.0
"""Seconds that an executor must be idle before it may be ended."""


def surplus(idle: Iterable[Executor], count: int, long_ago: float) -> list[Executor]:
    """At most `count` executors that have been idle since `long_ago`, the longest idle first."""
    rested = [executor for executor in idle if executor.idle_since <= long_ago]
    rested.sort(key=lambda executor: (executor.idle_since, executor.id))
    return rested[: max(count, 0)]
