"""The cpus that waiting calls lend, and who may have them.

A call that waits for other tasks gives its cpus and its slot back, and takes them again when it
goes on: at once, so that for a moment more may be taken than there are; nothing new starts then.

**Lent cpus go to deeper tasks.** Otherwise a governor that is given a tree of tasks would begin all
tasks of a level before it ends any of them, and each waits in a process of its own. With this rule
no more calls wait at once than the tree is deep, times the cpus.

**A call may wait for a task that is not deeper**, for one that was begun elsewhere, for instance.
So when all that could run is refused its cpus by this rule, and nothing has moved for `PATIENCE`,
one task may start all the same.

**The number of waiting calls is bounded**, since each of them is a process.
"""

from __future__ import annotations

from math import inf

from rain.base.resources import Resources
from rain.governor.nodes import Executor
from rain.governor.resources import FreeResources

PATIENCE = 0.5
"""Seconds in which nothing moves until a task that is not deep enough may have lent cpus."""

BLOCKED_PER_CPU = 16
BLOCKED_AT_LEAST = 64


def most_blocked(cpus: int) -> int:
    """How many calls may wait for other tasks at the same time, if the user does not say."""
    return max(BLOCKED_PER_CPU * cpus, BLOCKED_AT_LEAST)


class Lending:
    """The executors whose calls wait for other tasks."""

    def __init__(self, free: FreeResources, most: int) -> None:
        self._free = free
        self.most = most
        self.blocked: dict[int, Executor] = {}
        self._moved = -inf  # when anything was last done here
        self.due = inf  # when a task may start that was refused

    def begin(self, executor: Executor, depth: int, now: float) -> None:
        """The running call of the executor waits."""
        executor.blocked_depth = depth
        executor.has_lent = True
        self.blocked[executor.id] = executor
        assert executor.group is not None
        self._free.lend(executor.group.resources)
        self.moved(now)

    def end(self, executor: Executor, now: float) -> None:
        """It goes on, or has come to an end."""
        if self.blocked.pop(executor.id, None) is not None:
            assert executor.group is not None
            self._free.take_again(executor.group.resources)
            self.moved(now)

    def moved(self, now: float) -> None:
        """Something was started or has ended."""
        self._moved = now
        self.due = inf

    def allows(self, needed: Resources, depth: int, now: float) -> bool:
        """Whether a task of that depth may take such free resources."""
        if not needed.cpus:
            return True
        refused = sum(
            executor.group.resources.cpus
            for executor in self.blocked.values()
            if executor.blocked_depth >= depth and executor.group is not None
        )
        if needed.cpus <= self._free.cpus - refused:
            return True
        if now - self._moved >= PATIENCE:
            return True
        self.due = self._moved + PATIENCE
        return False
