"""Notes which copies could not be fetched: how often their objects were made again for that, and
when they are offered again (`unfetched`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from attrs import Factory, define

from rain.graph import DataObject, Governor
from rain.graph.copy import Copy


@define(eq=False)
class FailedFetches:
    """Failures count until the copy arrives, or is given up."""

    remade: dict[tuple[DataObject, Governor], int] = Factory(dict)  # how often for want of a copy
    postponed: dict[Copy, float] = Factory(dict)  # offered again: when

    @property
    def due(self) -> float:
        """When the next copy is offered again."""
        return min(self.postponed.values(), default=inf)

    def make_again(self, copy: Copy) -> int:
        """One more round in which its object is made again; returns the number of rounds."""
        key = copy.object, copy.governor
        rounds = self.remade[key] = self.remade.get(key, 0) + 1
        return rounds

    def take_due(self, now: float) -> list[Copy]:
        """Those that are offered again now."""
        due = [copy for copy, time in self.postponed.items() if time <= now]
        for copy in due:
            del self.postponed[copy]
        return due

    def is_over(self, copy: Copy) -> None:
        """The copy has arrived, or is given up: failures before that do not count any more."""
        copy.tries = 0
        self.remade.pop((copy.object, copy.governor), None)
        self.postponed.pop(copy, None)

    def forget(self, gone: Callable[[DataObject, Governor], bool]) -> None:
        """Forgets the failures of copies that are gone."""
        for key in [key for key in self.remade if gone(*key)]:
            del self.remade[key]
        for copy in [copy for copy in self.postponed if gone(copy.object, copy.governor)]:
            del self.postponed[copy]
