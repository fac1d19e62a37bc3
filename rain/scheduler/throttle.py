"""When the scheduler is due: soon after submits, seldom when nothing happens, never always."""

from __future__ import annotations

from math import inf

from attrs import Factory, define, frozen


@frozen
class Thresholds:
    """How long after a run the next one may start, by what is pending (seconds)."""

    submits: float = 0.0005
    updates: float = 0.1
    nothing: float = 1.0
    share: float = 0.5  # at most this part of the time is spent in the scheduler


@define
class Throttle:
    """Remembers the last run. Knows no clock: times are told to it."""

    thresholds: Thresholds = Factory(Thresholds)
    started: float = -inf  # when the last run started
    took: float = 0.0  # and how long it was, as soon as that is known
    rests_until: float = -inf  # until then no run is due, whatever happens
    soon: bool = False  # whether it wants any news at once
    again: bool = False  # whether it has more to plan

    def run(self, now: float) -> None:
        """A run starts; it has not said yet when it wants the next one."""
        self.started = now
        self.soon = self.again = False
        self.took = 0.0
        self.rests_until = now

    def ran(self, took: float) -> None:
        """The last run has taken so long."""
        limits = self.thresholds
        least = min(limits.submits, limits.updates, limits.nothing)
        self.took = took
        self.rests_until = self.started + took + least

    def due_at(self, *, submits: bool, updates: bool) -> float:
        """The earliest time of the next run; minus infinity before the first one."""
        limits = self.thresholds
        if submits or self.again or (updates and self.soon):
            threshold = limits.submits
        elif updates:
            threshold = limits.updates
        else:
            threshold = limits.nothing
        # A run of t seconds is followed by a pause of t (1 - share) / share, so that it takes
        # no more than its share of the time.
        pause = self.took * (1.0 - limits.share) / limits.share
        return self.started + self.took + max(threshold, pause)
