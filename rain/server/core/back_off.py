"""Back-off of a scheduler that was interrupted, or of a governor that could not start tasks.

A scheduler that took too long will often do so again in its next run, and while it runs the server
does nothing else. So each rest is twice as long as the previous one. After a long time without
interruption the next rest is short again.
"""

from __future__ import annotations

import re
from math import inf

from attrs import Factory, define

from rain.graph import Governor

LONGEST = 60
"""The longest rest, as a multiple of the first one."""

SOUND = 10
"""After this many times the last rest without interruption the next rest is short again."""


@define
class Rest:
    """The last rest of a scheduler or a governor."""

    limit: float  # the first rest in seconds; of a scheduler it is the time limit of a run
    length: float = 0.0
    until: float = -inf
    why: str = ""

    def begin(self, now: float) -> None:
        """Starts a rest."""
        if self.length and now < self.until + SOUND * self.length:
            self.length = min(2 * self.length, LONGEST * self.limit)
        else:
            self.length = self.limit
        self.until = now + self.limit + self.length


@define(eq=False)
class BackOff:
    """The rests of governors, and the tasks for which they may rest next."""

    last: dict[Governor, Rest] = Factory(dict)  # the last one of each governor that had any
    until: dict[Governor, float] = Factory(dict)  # of those that still rest
    blamed: dict[Governor, int] = Factory(dict)  # for tasks that have finished elsewhere

    @property
    def due(self) -> float:
        """When the first rest ends."""
        return min(self.until.values(), default=inf)

    def begin(self, governor: Governor, unit: float, why: str, now: float) -> Rest:
        """A governor rests from now on."""
        rest = self.last.get(governor)
        if rest is None or rest.limit < unit:
            rest = self.last[governor] = Rest(unit)
        rest.begin(now)
        if _without_numbers(why) != _without_numbers(rest.why):
            rest.why = why  # else the text stays the same: waiting clients show each text once
        self.until[governor] = rest.until
        return rest

    def take_rested(self, now: float) -> list[Governor]:
        """Those that have rested for long enough."""
        rested = [governor for governor, until in self.until.items() if until <= now]
        for governor in rested:
            del self.until[governor]
        return rested

    def has_rested_since(self, governor: Governor, time: float) -> bool:
        """Whether it rests, or has rested, for what was before this time."""
        rest = self.last.get(governor)
        return rest is not None and time < rest.until

    def blame(self, governor: Governor) -> int:
        """Blames it for one more task; returns for how many."""
        blamed = self.blamed[governor] = self.blamed.get(governor, 0) + 1
        return blamed

    def make_up(self, governor: Governor, count: int) -> None:
        """It has finished that many tasks, which make up for as many of the others."""
        left = self.blamed.pop(governor, 0) - count
        if left > 0:
            self.blamed[governor] = left

    def end(self, governor: Governor) -> None:
        """It does not rest any more, and is not blamed: it drains."""
        self.until.pop(governor, None)
        self.blamed.pop(governor, None)

    def forget(self, governor: Governor) -> None:
        """It has gone."""
        self.end(governor)
        self.last.pop(governor, None)


def _without_numbers(why: str) -> str:
    """A reason without its numbers, to compare reasons that differ only in executors or sizes."""
    return re.sub(r"[0-9.,]+", "", why)
