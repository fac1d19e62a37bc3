"""The settings of a governor's reactor: its resources, its executors, and the limits of its
data.
"""

from __future__ import annotations

from attrs import Factory, frozen

from rain.base.resources import Resources
from rain.governor.core.cancelling import GRACE
from rain.governor.core.disk import Disk
from rain.governor.core.tiers import Tiers

PYTHON = "py"
"""The part before the slash in the type of a task that is a Python function."""

IDLE_SECONDS = 60.0
"""Seconds that an executor must be idle before it may be ended."""


@frozen
class Offer:
    """The resources that tasks may use here, and the names of the gpus."""

    resources: Resources
    gpus: tuple[str, ...] = ()


@frozen
class PoolSettings:
    """Which executors a governor has, and how they are handled."""

    runners: frozenset[str] = frozenset({PYTHON})  # the kinds of executors
    one_by_one: frozenset[str] = frozenset()  # those of them that get one call at a time
    idle_seconds: float = IDLE_SECONDS  # surplus executors that were idle for so long are ended
    grace: float = GRACE  # seconds that a stopped call has to end by itself
    most_blocked: int | None = None  # calls that may wait for other tasks; None: see `resources`


@frozen
class DataLimits:
    """How long data lingers, and how much there may be."""

    linger_seconds: float
    tiers: Tiers = Factory(Tiers)
    disk: Disk = Factory(Disk)
