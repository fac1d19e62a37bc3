"""What all that runs tasks here shares: where they work, and where their news go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from rain.governor.bounds import Bounds
from rain.governor.events import Event
from rain.governor.lazy_environments import LazyEnvironments
from rain.governor.memory_files import KernelKills
from rain.governor.store import Store
from rain.governor.warden import Warden
from rain.rpc.background import Background


@frozen
class Workplace:
    """The surroundings of executors, of built-in tasks and of programs."""

    store: Store
    folder: Path
    """Each run of a built-in task or program has a folder of its own in it."""
    warden: Warden
    background: Background
    tell: Callable[[Event], object]
    grace: float
    """Seconds from the interrupt of a program to its end by force."""
    kills: KernelKills
    bounds: Bounds
    environments: LazyEnvironments
