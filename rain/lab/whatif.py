"""What-if questions: a recorded run with other schedulers or on other clusters.

The original run is simulated too. The simulation is assumed to have the same relative error
everywhere, so a prediction is the measured time scaled by the ratio of the simulated times.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.lab.outcome import Outcome
from rain.lab.rebuilding import RecordedRun
from rain.lab.workload import Cluster


@frozen
class Alternative:
    """A scheduler on a cluster with its outcome."""

    scheduler: str
    cluster: Cluster
    outcome: Outcome


@frozen
class WhatIf:
    """A run as measured, as simulated, and its alternatives."""

    run: RecordedRun
    same: Alternative  # the scheduler and the cluster of the recording
    others: Sequence[Alternative]

    @property
    def error(self) -> float:
        """The error of the simulated original run, as a fraction of the measured time."""
        return self.same.outcome.makespan / self.run.makespan - 1

    def predicted(self, other: Alternative) -> float:
        """The predicted seconds of the run."""
        return self.run.makespan * other.outcome.makespan / self.same.outcome.makespan

    def sentence(self, other: Alternative) -> str:
        """The prediction as a sentence."""
        on = f" on {other.cluster.name}" if other.cluster != self.run.cluster else ""
        return (
            f"with {other.scheduler}{on} this run would have taken"
            f" {spell_time(self.predicted(other))} instead of {spell_time(self.run.makespan)}"
        )


def spell_time(seconds: float) -> str:
    """Spells a time in a readable unit."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    if seconds < 7200:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"
