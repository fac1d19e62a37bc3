"""Counts the free resources of a governor: tasks take and return them, and waiting calls lend cpus.

A call that waits for other tasks lends its cpus and its slot, and takes them back as soon as it
goes on. So for a moment more may be in use than there are, and nothing new starts then.

**Lent cpus go to deeper tasks.** Otherwise a governor with a tree of tasks would start all tasks of
a level before any of them ends, and each would wait in a separate process. With this rule, the
number of waiting calls is at most the depth of the tree times the cpus.

**A call may wait for a task that is not deeper**, for instance one that was submitted elsewhere. So
if this rule refuses cpus to all tasks that could run, and nothing has changed for `PATIENCE`, one
task may start anyway.

**The number of waiting calls is bounded**, since each of them is a process.
"""

from __future__ import annotations

from math import inf

from rain.base.resources import MEMORY, Resources
from rain.governor.core.nodes import Executor

SLOTS_PER_CPU = 4

PATIENCE = 0.5
"""Seconds without any start or end after which a task that is not deep enough may get lent cpus."""

BLOCKED_PER_CPU = 16
BLOCKED_AT_LEAST = 64


class FreeResources:
    """Free amounts of named resources, and free slots, which limit the tasks that need no cpu."""

    def __init__(self, capacity: Resources) -> None:
        self.capacity = capacity
        self.slots = SLOTS_PER_CPU * max(capacity.cpus, 1)
        self.cpus = capacity.cpus
        self.others = dict(capacity.others)
        self.withheld = 0  # bytes of our memory that others use

    def withhold(self, memory: int) -> None:
        """This much memory is not available now; the free amount may become negative."""
        if memory != self.withheld:
            self.others[MEMORY] -= memory - self.withheld
            self.withheld = memory

    def has(self, needed: Resources) -> bool:
        """Whether one more task with such needs may run now."""
        if needed.cpus > self.cpus or self.slots <= 0:
            return False
        if not needed.others:
            return True
        others = self.others
        return all(amount <= others.get(name, 0) for name, amount in needed.others)

    def lacks_memory(self, memory: int) -> bool:
        """Whether less than this is free."""
        return memory > self.others.get(MEMORY, 0)

    def has_all_but_memory(self, needed: Resources) -> bool:
        """Whether a task with such needs could run if there were memory."""
        rest = tuple(pair for pair in needed.others if pair[0] != MEMORY)
        return self.has(Resources(needed.cpus, rest))

    def take(self, needed: Resources) -> None:
        """One more task runs; `has` was asked before."""
        self.slots -= 1
        self.cpus -= needed.cpus
        for name, amount in needed.others:
            self.others[name] -= amount

    def lend(self, needed: Resources) -> None:
        """A task waits for others: its cpus and its slot are free meanwhile."""
        self.slots += 1
        self.cpus += needed.cpus

    def take_again(self, needed: Resources) -> None:
        """The task goes on, even if others use them now: the free amount may become negative."""
        self.slots -= 1
        self.cpus -= needed.cpus

    def give_back(self, needed: Resources) -> None:
        """A task has ended."""
        self.slots += 1
        self.cpus += needed.cpus
        for name, amount in needed.others:
            self.others[name] += amount


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

    def begin_turn(self) -> None:
        """Begins a turn, in which tasks that were refused before ask again."""
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
