"""Limits the memory of all executors and programs of a governor together, by a control group.

The samples (`memory_sampler`) usually end a task long before, by its own fault and with better
words. The wall is for what they see too late, or never: memory that many threads take at once, and
memory that processes share without the store. There the kernel ends a process of this group, and
never the governor nor another program of the machine.

The kernel counts a page for the group that touches it first: shared memory and files in memory,
too, as long as they exist, and also those of the store. So the wall is the memory of the tasks and
of the store together, and some more: for tables of the kernel, and for the code of programs.
Pages of other files count until the wall is reached; then the kernel drops them.

There is no wall where it would kill innocent tasks: if the files of the store lie in memory, which
can be as many as the disk budget allows. There is none, either, if the machine or the control group
of the governor has less memory than that, because it would never be reached.

With version 1 of control groups, all processes are in one group, which root may make. With version
2, it is the group that has a group for each executor and program (`process_groups`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from rain.governor.machine.budget import Budget
from rain.governor.machine.control_groups import (
    MEMBERS,
    is_of_a_task,
    new_name,
    remove_abandoned,
    write,
)
from rain.governor.machine.process_groups import ProcessGroups
from rain.stream.room import lines

MORE_PARTS = 8
MORE = 256 * 1024 * 1024
"""The wall is higher than both budgets by this part of them, and by this number of bytes. So the
samples come first where they can: they know how much a task had.
"""

_LIMIT_1, _LIMIT_2 = "memory.limit_in_bytes", "memory.max"
_IN_MEMORY = ("tmpfs", "ramfs")


@frozen
class MemoryWall:
    """The group, and how many bytes of memory it may have."""

    folder: Path
    limit: int
    is_shared: bool = False  # with the groups of processes, whose folder it is

    @staticmethod
    def make(limit: int, groups: ProcessGroups | None, root: Path = Path("/")) -> MemoryWall | None:
        """Builds a wall of this height; None for 0, and where that is not possible."""
        if not limit:
            return None
        if groups is not None and (groups.folder / _LIMIT_2).exists():
            with suppress(OSError):
                write(groups.folder / _LIMIT_2, limit)
                return MemoryWall(groups.folder, limit, is_shared=True)
        for parent in _places(root):
            if is_of_a_task(parent):
                return None
            remove_abandoned(parent)
            folder = parent / new_name()
            with suppress(OSError):
                folder.mkdir()
                try:
                    write(folder / _LIMIT_1, limit)
                except OSError:
                    folder.rmdir()
                else:
                    return MemoryWall(folder, limit)
        return None

    def hold(self, pid: int) -> None:
        """Puts a process that has just started behind the wall; it may have ended already."""
        if not self.is_shared:
            with suppress(OSError):
                write(self.folder / MEMBERS, pid)

    def kills(self) -> int:
        """How many processes the kernel has killed because the wall was reached."""
        for name in ("memory.oom_control", "memory.events"):
            for line in lines(self.folder / name):
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def shared(self) -> int:
        """Bytes of shared memory and of files in memory that count for the group."""
        words = (line.split() for line in lines(self.folder / "memory.stat"))
        return next((int(amount) for name, amount in words if name == "shmem"), 0)


def wall_for(budget: Budget, machine: int, folder: Path, root: Path = Path("/")) -> int:
    """The height of the wall of a governor whose data is in this folder; 0 for no wall."""
    if not budget.memory:
        return 0
    both = budget.memory + budget.store
    height = both + both // MORE_PARTS + MORE
    return height if height < machine and not is_in_memory(folder, root) else 0


def is_in_memory(folder: Path, root: Path = Path("/")) -> bool:
    """Whether a folder is in a file system that has its files in memory."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines(root / "proc/self/mountinfo"):
        mount, _, system = line.partition(" - ")
        if mount.split()[2] == wanted:
            return system.split()[0] in _IN_MEMORY
    return False


def _places(root: Path) -> Iterator[Path]:
    """Groups of version 1 in which this process might make one."""
    for line in lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield root / "sys/fs/cgroup/memory" / path.lstrip("/")
