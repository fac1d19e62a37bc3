"""Staying awake for what is expected at once.

Whoever sleeps until a socket can be read has to be woken. On a cpu that has gone to sleep as well
this takes longer than many a short message is on its way. So who expects an answer looks for it
again and again, for a moment, and gives way to everybody else who could run here meanwhile.
"""

import os
from collections.abc import Callable
from time import monotonic

LOST = 0.0003
"""Seconds between two looks from which on somebody else needs this cpu more."""

Found = list[tuple[int, int]]


class Vigil:
    """Looks without sleeping, until there is something, or the time is over."""

    def __init__(
        self,
        now: Callable[[], float] = monotonic,
        give_way: Callable[[], object] = os.sched_yield,
    ) -> None:
        self._now = now
        self._give_way = give_way
        self._until = 0.0

    def __bool__(self) -> bool:
        """Whether somebody has asked for it since the last one."""
        return self._until > 0.0

    def begin(self, seconds: float) -> None:
        """The next look will be one that lasts so long at most."""
        self._until = self._now() + seconds

    def keep(self, look: Callable[[], Found], longest: float) -> Found:
        """Looks until something is found; nothing when it is time to sleep."""
        now = self._now()
        until, self._until = min(self._until, now + longest), 0.0
        while now < until:
            found = look()
            if found:
                return found
            self._give_way()
            before, now = now, self._now()
            if now - before > LOST:
                break
        return []
