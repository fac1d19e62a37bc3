"""When the scheduler is due: soon after submits, seldom when nothing happens, never always."""

from __future__ import annotations

from math import inf

from attrs import Factory, define, frozen


@frozen
class Thresholds:
    """How long after a run the next one may start, by what is pending (seconds).

    Whoever has tasks to plan waits least.
    """

    submits: float = 0.0005
    updates: float = 0.1
    nothing: float = 1.0
    share: float = 0.5  # at most this part of the time is spent in the scheduler

    def __attrs_post_init__(self) -> None:
        if not self.submits <= self.updates <= self.nothing:
            raise ValueError("thresholds must not fall: submits, updates, nothing")


@define
class Throttle:
    """Remembers the last run. Knows no clock: times are told to it."""

    thresholds: Thresholds = Factory(Thresholds)
    started: float = -inf  # when the last run started
    took: float = 0.0  # and how long it was, as soon as that is known
    rests_until: float = -inf  # then a run is due that has tasks to plan, and no other is before
    soon: bool = False  # whether it wants any news at once
    again: bool = False  # whether it has more to plan

    def run(self, now: float) -> None:
        """A run starts; it has not said yet when it wants the next one."""
        self.started = now
        self.soon = self.again = False
        self.took = 0.0
        self.rests_until = now + self.thresholds.submits

    def ran(self, took: float) -> None:
        """The last run has taken so long."""
        limits = self.thresholds
        # A run of t seconds is followed by a pause of t (1 - share) / share, so that it takes
        # no more than its share of the time.
        pause = took * (1.0 - limits.share) / limits.share
        self.took = took
        self.rests_until = self.started + took + max(limits.submits, pause)

    def due_at(self, *, submits: bool, updates: bool) -> float:
        """The earliest time of the next run; minus infinity before the first one."""
        limits = self.thresholds
        if submits or self.again or (updates and self.soon):
            return self.rests_until
        threshold = limits.updates if updates else limits.nothing
        return max(self.rests_until, self.started + self.took + threshold)
