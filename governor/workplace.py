"""The objects that executors, built-in tasks and programs share: folders, limits, and the sink of
events.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.governor.core.events import Tell
from rain.governor.environments.lazy import LazyEnvironments
from rain.governor.machine.descriptors import Descriptors
from rain.governor.machine.memory_files import OF_EXECUTORS, KernelKills, prefer_to_kill
from rain.governor.machine.memory_wall import MemoryWall
from rain.governor.machine.process_groups import ProcessGroups
from rain.governor.machine.warden import Warden
from rain.governor.storage.store import Store
from rain.rpc.background import Background


@frozen
class Bounds:
    """The limits that a governor gives to each process that it starts for tasks."""

    descriptors: Descriptors | None = None  # None: as many as the governor itself may have
    groups: ProcessGroups | None = None  # None: processes are only counted from time to time
    wall: MemoryWall | None = None  # None: memory is only sampled

    def bind(self, pid: int, word: str) -> None:
        """A process has just started; what it starts itself inherits all of this.

        The word is its mark (see strays.py), which is the name of its group, too.
        """
        prefer_to_kill(pid, OF_EXECUTORS)
        if self.descriptors is not None:
            self.descriptors.bound(pid)
        if self.groups is not None:
            self.groups.hold(word, pid)
        if self.wall is not None:
            self.wall.hold(pid)


@frozen
class Workplace:
    """The surroundings of executors, of built-in tasks and of programs."""

    store: Store
    folder: Path
    """Each run of a built-in task or program has a folder of its own in it."""
    warden: Warden
    background: Background
    tell: Tell
    grace: float
    """Seconds from the interrupt of a program to its end by force."""
    kills: KernelKills
    bounds: Bounds
    environments: LazyEnvironments
