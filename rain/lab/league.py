"""Compares schedulers: the instances, their results, and the table of standings.

The score of a scheduler is the geometric mean, over all instances, of its makespan divided by the
best makespan of all compared schedulers on that instance with the same estimates.
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
    """One graph on one cluster, with one kind of estimates."""

    graph: str  # the name of a family, or the path of a file
    seed: int
    cluster: Cluster
    estimates: Estimates

    @property
    def name(self) -> str:
        """A readable name."""
        return f"{self.graph} {self.cluster.name}"


@frozen
class LeagueEntry:
    """An instance with a scheduler."""

    instance: Instance
    scheduler: str
    overheads: Overheads = NO_OVERHEADS
    placed: bool = False  # whether to record where and when each task ran
    limit: float = PATIENT.scheduler_limit  # real seconds that one of its runs may take


@define
class LeagueResult:
    """The result of an entry."""

    entry: LeagueEntry
    graph: str  # the name of the graph
    tasks: int
    bounds: Bounds
    outcome: Outcome


@frozen
class Failure:
    """An entry that has failed, and why."""

    entry: LeagueEntry
    why: str


@frozen
class LeagueRow:
    """A row of the table."""

    scheduler: str
    estimates: Estimates
    score: float
    worst: float
    to_bound: float  # geometric mean of makespan / bound
    makespan: float  # seconds, sum over all instances
    moved: int
    peak_stored: int  # the largest
    turns: int
    scheduler_seconds: float
    tasks: int


def ratios(results: Sequence[LeagueResult]) -> list[float]:
    """The ratio of each result to the best result of its instance."""
    best: dict[Instance, float] = {}
    for result in results:
        instance, makespan = result.entry.instance, result.outcome.makespan
        best[instance] = min(best.get(instance, makespan), makespan)
    return [_ratio(result.outcome.makespan, best[result.entry.instance]) for result in results]


def standings(results: Sequence[LeagueResult]) -> list[LeagueRow]:
    """The table, the best scheduler first."""
    groups: dict[tuple[Estimates, str], list[tuple[float, LeagueResult]]] = {}
    for ratio, result in zip(ratios(results), results, strict=True):
        key = (result.entry.instance.estimates, result.entry.scheduler)
        groups.setdefault(key, []).append((ratio, result))
    table = [_standing(*key, group) for key, group in groups.items()]
    return sorted(table, key=lambda row: (row.estimates, row.score))


def _standing(
    estimates: Estimates, scheduler: str, group: list[tuple[float, LeagueResult]]
) -> LeagueRow:
    outcomes = [result.outcome for _, result in group]
    return LeagueRow(
        scheduler,
        estimates,
        geometric_mean([ratio for ratio, _ in group]),
        max(ratio for ratio, _ in group),
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
    """The right mean for ratios: one factor of 2 and one of 1/2 cancel out."""
    return exp(sum(map(log, numbers)) / len(numbers))
