"""Limits the processes of an executor or a program, with all their descendants, by control groups.

A fork bomb makes thousands of processes in a second, so the kernel has to stop it: sampling would
be too slow where many cpus fork. The kernel's limit counts threads, too, and is far above the
number of processes that a task may have. A task with too many processes is ended by the governor as
soon as it notices (`memory_sampler`, `pressure`), usually long before the kernel's limit is
reached.

A group also contains processes whose parents have ended. So these count, too, and are killed with
the group.

With version 1 of control groups, a governor needs to be root to make groups below its own. With
version 2, it makes them beside its own, where they were delegated to its user. Elsewhere there are
no such groups. A governor inside of a task makes none, because it is in the group of the task.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from attrs import Factory, define

from rain.governor.machine.control_groups import (
    MEMBERS,
    is_of_a_task,
    new_name,
    remove_abandoned,
    write,
)
from rain.stream.room import lines

WALL_TIMES = 4
WALL_MORE = 1000
"""The kernel's limit for processes and threads is this factor times the limit of processes, plus
this number. A task should never reach it.
"""

_MOST = "pids.max"


@define
class ProcessGroups:
    """The groups of one governor: one for each word of an executor or a run (see strays.py)."""

    folder: Path
    wall: int
    _left: dict[str, list[str]] = Factory(dict)
    """Groups of programs that have ended and left processes behind, by the words of sessions."""

    @staticmethod
    def make(most: int, root: Path = Path("/")) -> ProcessGroups | None:
        """Makes a group with all others in it; None where that is not possible."""
        for parent in _places(root):
            if is_of_a_task(parent):
                return None
            folder = parent / new_name()
            remove_abandoned(parent)
            with suppress(OSError):
                folder.mkdir()
                try:
                    _allow_limits(folder)
                except OSError:
                    folder.rmdir()
                else:
                    return ProcessGroups(folder, most * WALL_TIMES + WALL_MORE)
        return None

    def hold(self, word: str, pid: int) -> None:
        """Puts a process that has just started into a group of its own.

        If that is refused, the process is only looked at, as where there are no groups.
        """
        group = self._group(word)
        try:
            group.mkdir()
            write(group / _MOST, self.wall)
            write(group / MEMBERS, pid)
        except OSError:  # or it has ended
            with suppress(OSError):
                group.rmdir()

    def members(self, word: str) -> list[int]:
        """All processes of a group; none if there is no such group."""
        return [int(pid) for pid in lines(self._group(word) / MEMBERS)]

    def leave(self, word: str, session: str) -> None:
        """A program has ended; what it has left behind may stay until its session ends."""
        try:
            self._group(word).rmdir()
        except FileNotFoundError:  # its group was refused
            pass
        except OSError:  # it has left something
            self._left.setdefault(session, []).append(word)

    def end(self, words: Iterable[str]) -> list[str]:
        """Kills what is in these groups, and what programs of these sessions have left.

        Nothing can start there any more. Returns the words of groups that are not gone yet.
        """
        over = {word for one in words for word in (one, *self._left.pop(one, ()))}
        return [word for word in over if not self._ended(self._group(word))]

    def _ended(self, group: Path) -> bool:
        """Kills what is in a group and removes it, unless something in it has yet to end."""
        try:
            write(group / _MOST, 0)
            for pid in lines(group / MEMBERS):
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError:  # somebody is still ending
            return False
        return True

    def _group(self, word: str) -> Path:
        return self.folder / word.rpartition("/")[2]


def _places(root: Path) -> Iterator[Path]:
    """Groups in which this process might make one."""
    for line in lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "pids" in controllers.split(","):
            yield root / "sys/fs/cgroup/pids" / path.lstrip("/")
        elif not controllers and path != "/":
            # A group of version 2 cannot have both processes and groups with limits.
            yield (root / "sys/fs/cgroup" / path.lstrip("/")).parent


def _allow_limits(folder: Path) -> None:
    """Lets groups in this one have a limit; raises OSError if they may not.

    To move a process, version 2 also requires the right to write to the common parent group.
    """
    if (folder / "cgroup.subtree_control").exists():  # version 2
        write(folder / "cgroup.subtree_control", "+pids")
        os.close(os.open(folder.parent / MEMBERS, os.O_WRONLY))
    else:
        (folder / _MOST).stat()
