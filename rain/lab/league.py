"""Who is best: the instances that are run, their results, and the table of the schedulers.

The score of a scheduler is the geometric mean, over all instances, of its makespan divided by the
best that any of the compared schedulers has reached there with the same estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from attrs import define, frozen

from rain.lab.bounds import Bounds
from rain.lab.estimates import Estimates
from rain.lab.outcome import Outcome
from rain.lab.setup import PATIENT
from rain.lab.workload import NO_OVERHEADS, Cluster, Overheads


@frozen
class Instance:
    """One graph on one cluster, and how much is known of it."""

    graph: str  # the name of a family, or the path of a file
    seed: int
    cluster: Cluster
    estimates: Estimates

    @property
    def name(self) -> str:
        """How people tell it from the others."""
        return f"{self.graph} {self.cluster.name}"


@frozen
class Entry:
    """An instance under a scheduler."""

    instance: Instance
    scheduler: str
    overheads: Overheads = NO_OVERHEADS
    placed: bool = False  # whether to keep who ran what and when
    limit: float = PATIENT.scheduler_limit  # seconds of real time that one run of it may take


@define
class Result:
    """An entry that has run."""

    entry: Entry
    graph: str  # the name of the graph
    tasks: int
    bounds: Bounds
    outcome: Outcome


@frozen
class Failure:
    """An entry that has not come to its end, and why."""

    entry: Entry
    why: str


@frozen
class Standing:
    """A row of the table."""

    scheduler: str
    estimates: Estimates
    score: float
    worst: float
    worst_at: str  # the instance
    to_bound: float  # geometric mean of makespan / bound
    makespan: float  # seconds, of all instances together
    moved: int
    peak_stored: int  # the largest
    turns: int
    scheduler_seconds: float
    tasks: int


def ratios(results: Sequence[Result]) -> list[float]:
    """For each result, how many times longer than the best of its instance it took."""
    best: dict[Instance, float] = {}
    for result in results:
        instance, makespan = result.entry.instance, result.outcome.makespan
        best[instance] = min(best.get(instance, makespan), makespan)
    return [_ratio(result.outcome.makespan, best[result.entry.instance]) for result in results]


def standings(results: Sequence[Result]) -> list[Standing]:
    """The table, the best scheduler first."""
    groups: dict[tuple[Estimates, str], list[tuple[float, Result]]] = {}
    for ratio, result in zip(ratios(results), results, strict=True):
        key = (result.entry.instance.estimates, result.entry.scheduler)
        groups.setdefault(key, []).append((ratio, result))
    table = [_standing(*key, group) for key, group in groups.items()]
    return sorted(table, key=lambda row: (row.estimates, row.score))


def _standing(estimates: Estimates, scheduler: str, group: list[tuple[float, Result]]) -> Standing:
    worst, at = max(group, key=lambda pair: pair[0])
    outcomes = [result.outcome for _, result in group]
    return Standing(
        scheduler,
        estimates,
        geometric_mean([ratio for ratio, _ in group]),
        worst,
        at.entry.instance.name,
        geometric_mean(
            [_ratio(result.outcome.makespan, result.bounds.best) for _, result in group]
        ),
        sum(outcome.makespan for outcome in outcomes),
        sum(outcome.moved for outcome in outcomes),
        max(outcome.peak_stored for outcome in outcomes),
        sum(outcome.turns for outcome in outcomes),
        sum(outcome.scheduler_seconds for outcome in outcomes),
        sum(result.tasks for _, result in group),
    )


def _ratio(seconds: float, least: float) -> float:
    return seconds / least if least > 0 else 1.0


def geometric_mean(numbers: Sequence[float]) -> float:
    """The mean for ratios: twice as long here and half as long there is the same."""
    return exp(sum(map(log, numbers)) / len(numbers))
