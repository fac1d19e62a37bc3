"""The settings of a governor's executors."""

from __future__ import annotations

from attrs import frozen

from rain.governor.cancelling import GRACE

IDLE_SECONDS = 60.0
"""Seconds that an executor must be idle before it may be ended."""


@frozen
class PoolSettings:
    """How the executors of a governor are handled."""

    one_by_one: frozenset[str] = frozenset()  # runners that get one call at a time
    idle_seconds: float = IDLE_SECONDS  # surplus executors that were idle for so long are ended
    grace: float = GRACE  # seconds that a stopped call has to end by itself
    most_blocked: int | None = None  # calls that may wait for other tasks; None: see `resources`
