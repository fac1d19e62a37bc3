"""The state of the policy for one kind of governors, from one decision to the next."""

from __future__ import annotations

from math import inf
from statistics import median

from attrs import evolve, field, frozen

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
"""Seconds in which nothing is started after the first failure in a row, and after many."""

_STARTS = 5


@frozen
class ScalingMemory:
    """Values; each change is another one."""

    wanted: tuple[tuple[float, int], ...] = ()  # times and sizes, each larger than all after it
    starts: tuple[float, ...] = ()  # seconds from the order to the first word of the last governors
    failures: int = 0  # in a row
    pause: float = field(default=-inf)  # nothing is started before this time
    why: str = ""  # the last failure

    def want(self, now: float, size: int, span: float) -> ScalingMemory:
        """Notes how much is wanted now. Notes that are older than `span` are dropped."""
        kept = [(time, other) for time, other in self.wanted if other > size and time >= now - span]
        return evolve(self, wanted=(*kept, (now, size)))

    @property
    def most_wanted(self) -> int:
        """The most that was wanted within the span."""
        return self.wanted[0][1] if self.wanted else 0

    @property
    def start_seconds(self) -> float:
        """Seconds from the request of a governor until it has joined; 0 if unknown."""
        return median(self.starts) if self.starts else 0.0

    def started(self, seconds: float) -> ScalingMemory:
        """A governor has joined this many seconds after it was requested."""
        return evolve(self, starts=(*self.starts, seconds)[-_STARTS:], failures=0, why="")

    def failed(self, now: float, why: str) -> ScalingMemory:
        """The batch system has refused a job, or one has ended before its governor could work."""
        pause = min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)
        return evolve(self, failures=self.failures + 1, pause=now + pause, why=why)
