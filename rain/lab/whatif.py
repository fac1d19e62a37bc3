"""What if: a recorded run, under other schedulers or on other clusters.

The same run is simulated as it was, too. What the simulation gets wrong there it gets wrong
elsewhere, so a prediction is the measured time, changed in proportion.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.lab.outcome import Outcome
from rain.lab.rebuilding import RecordedRun
from rain.lab.workload import Cluster


@frozen
class Alternative:
    """A scheduler on a cluster, and what came of it."""

    scheduler: str
    cluster: Cluster
    outcome: Outcome


@frozen
class WhatIf:
    """A run as it was, as the lab sees it, and as it might have been."""

    run: RecordedRun
    same: Alternative  # the scheduler and the cluster of the recording
    others: Sequence[Alternative]

    @property
    def error(self) -> float:
        """How far the simulation of the same run is off, as a part of the measured time."""
        return self.same.outcome.makespan / self.run.makespan - 1

    def predicted(self, other: Alternative) -> float:
        """Seconds that the run would have taken."""
        return self.run.makespan * other.outcome.makespan / self.same.outcome.makespan

    def sentence(self, other: Alternative) -> str:
        """The prediction for people."""
        on = f" on {other.cluster.name}" if other.cluster != self.run.cluster else ""
        return (
            f"with {other.scheduler}{on} this run would have taken"
            f" {spell_time(self.predicted(other))} instead of {spell_time(self.run.makespan)}"
        )


def spell_time(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    if seconds < 7200:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"
