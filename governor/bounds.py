"""What the processes of tasks are bound by from their start: executors and external programs."""

from __future__ import annotations

from attrs import frozen

from rain.governor.descriptors import Descriptors
from rain.governor.memory_files import OF_EXECUTORS, prefer_to_kill


@frozen
class Bounds:
    """The limits that a governor gives to each process that it starts for tasks."""

    descriptors: Descriptors | None = None  # None: as many as the governor itself may have

    def bind(self, pid: int) -> None:
        """A process has just started; what it starts itself inherits all of this."""
        prefer_to_kill(pid, OF_EXECUTORS)
        if self.descriptors is not None:
            self.descriptors.bound(pid)
