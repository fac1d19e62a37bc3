"""What the processes of tasks are bound by from their start: executors and external programs."""

from __future__ import annotations

from attrs import frozen

from rain.governor.descriptors import Descriptors
from rain.governor.memory_files import OF_EXECUTORS, prefer_to_kill
from rain.governor.process_groups import ProcessGroups


@frozen
class Bounds:
    """The limits that a governor gives to each process that it starts for tasks."""

    descriptors: Descriptors | None = None  # None: as many as the governor itself may have
    groups: ProcessGroups | None = None  # None: processes are only counted from time to time

    def bind(self, pid: int, word: str) -> None:
        """A process has just started; what it starts itself inherits all of this.

        The word is its mark (see strays.py), which is the name of its group, too.
        """
        prefer_to_kill(pid, OF_EXECUTORS)
        if self.descriptors is not None:
            self.descriptors.bound(pid)
        if self.groups is not None:
            self.groups.hold(word, pid)
