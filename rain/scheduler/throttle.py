"""Decides when the scheduler runs: soon after submits, seldom without news, never continuously."""

from __future__ import annotations

from math import inf

from attrs import Factory, define, frozen


@frozen
class Thresholds:
    """The least seconds from one run to the next, by what is pending.

    New tasks have the shortest wait.
    """

    submits: float = 0.0005
    updates: float = 0.1
    nothing: float = 1.0
    share: float = 0.5  # the largest fraction of time for the scheduler

    def __attrs_post_init__(self) -> None:
        if not self.submits <= self.updates <= self.nothing:
            raise ValueError("thresholds must not fall: submits, updates, nothing")


@define
class Throttle:
    """Remembers the last run. It has no clock: callers pass the time."""

    thresholds: Thresholds = Factory(Thresholds)
    started: float = -inf  # when the last run started
    took: float = 0.0  # its duration, once it is known
    rests_until: float = -inf  # no run is due before this, and one with tasks to plan is due then
    soon: bool = False  # whether any news should trigger a run soon
    again: bool = False  # whether there is more to plan

    def run(self, now: float) -> None:
        """A run starts; it has not requested the next one yet."""
        self.started = now
        self.soon = self.again = False
        self.took = 0.0
        self.rests_until = now + self.thresholds.submits

    def ran(self, took: float) -> None:
        """The last run took this many seconds."""
        limits = self.thresholds
        # A run of t seconds is followed by a pause of t (1 - share) / share, so that runs take no
        # more than their share of the time.
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
