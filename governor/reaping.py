"""Which idle executors go. A process that nobody needs still holds memory, and perhaps a gpu."""

from __future__ import annotations

from collections.abc import Iterable

from rain.governor.nodes import Executor

IDLE_SECONDS = 60.0
"""How long an executor is idle before it may go."""


def surplus(idle: Iterable[Executor], count: int, long_ago: float) -> list[Executor]:
    """At most `count` of those that are idle since `long_ago` or longer, the longest idle first."""
    rested = [executor for executor in idle if executor.idle_since <= long_ago]
    rested.sort(key=lambda executor: (executor.idle_since, executor.id))
    return rested[: max(count, 0)]
