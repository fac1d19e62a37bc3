"""Limits how many files, sockets and pipes each process of a task may have open.

The kernel keeps this limit for each process (`RLIMIT_NOFILE`), and processes inherit it. A governor
raises its own limit to that of its tasks when it starts. So its child processes have the limit from
the beginning, at no cost. Only a limit below the governor's own has to be set for each process.
"""

from __future__ import annotations

import resource
from contextlib import suppress

from attrs import frozen

from rain.base.errors import StartError

TASK_DESCRIPTORS = 65_536
"""How many a process of a task may have unless it is set, and if the system allows it."""

LEAST = 64
"""With fewer, a governor could start no executor, and its tasks would wait forever."""

_FILES = resource.RLIMIT_NOFILE


@frozen
class Descriptors:
    """The limit of each process, and whether it was given: then a process cannot raise it."""

    most: int
    is_given: bool = False

    @staticmethod
    def read(given: int | None) -> Descriptors:
        """The limit from the option; raises a one-line StartError if the system allows less."""
        return Descriptors.within(given, *resource.getrlimit(_FILES))

    @staticmethod
    def within(given: int | None, own: int, hard: int) -> Descriptors:
        """The limit from the option for a process with these limits; StartError as by `read`."""
        if hard != resource.RLIM_INFINITY and hard < LEAST:
            raise StartError(
                f"the system allows {hard} open files for each process of this user, and a governor"
                f" needs at least {LEAST}: start it with a higher limit (ulimit -n)"
            )
        allowed = TASK_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
        if given is None:
            return Descriptors(max(own, min(TASK_DESCRIPTORS, allowed)))
        if hard != resource.RLIM_INFINITY and given > hard:
            raise StartError(
                f"--task-descriptors {given}: the system allows {hard} (ulimit -Hn) for each"
                " process of this user"
            )
        return Descriptors(given, is_given=True)

    def raise_own(self) -> None:
        """Raises the own limit, so that processes started from now on have at least this one."""
        own, hard = resource.getrlimit(_FILES)
        if own != resource.RLIM_INFINITY and own < self.most:
            resource.setrlimit(_FILES, (self.most, hard))

    def bound(self, pid: int) -> None:
        """Sets the limit of a process that has just started, if it is lower than our own."""
        if not self.is_given:
            return
        # It may have ended already, or have become another user's.
        with suppress(ProcessLookupError, PermissionError):
            resource.prlimit(pid, _FILES, (self.most, self.most))
