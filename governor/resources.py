"""Counts the free resources of a governor as tasks take and return them."""

from __future__ import annotations

from rain.base.resources import Resources

SLOTS_PER_CPU = 4


class FreeResources:
    """Free amounts of named resources, and free slots, which limit the tasks that need no cpu."""

    def __init__(self, capacity: Resources) -> None:
        self.capacity = capacity
        self.slots = SLOTS_PER_CPU * max(capacity.cpus, 1)
        self.cpus = capacity.cpus
        self.others = dict(capacity.others)

    def has(self, needed: Resources) -> bool:
        """Whether one more task with such needs may run now."""
        if needed.cpus > self.cpus or self.slots <= 0:
            return False
        if not needed.others:
            return True
        others = self.others
        return all(amount <= others.get(name, 0) for name, amount in needed.others)

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
        """It goes on, even if somebody else has them now: then less than nothing is free."""
        self.slots -= 1
        self.cpus -= needed.cpus

    def give_back(self, needed: Resources) -> None:
        """One task less."""
        self.slots += 1
        self.cpus += needed.cpus
        for name, amount in needed.others:
            self.others[name] += amount
