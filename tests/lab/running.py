"""Small workloads, clusters and schedulers for the tests of the lab."""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.resources import Resources
from rain.graph import Graph
from rain.lab.estimates import Estimates, expect
from rain.lab.families import make
from rain.lab.outcome import Outcome
from rain.lab.setup import Setup
from rain.lab.simulation import Simulation
from rain.lab.watched import WatchedScheduler
from rain.lab.workload import MIB, Cluster, Overheads, Workload
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.rain import RainScheduler

FREE = Overheads()


class ByHand:
    """Plans every task where a test says, by the order of submission."""

    def __init__(self, governors: Sequence[int], priorities: Sequence[int] = ()) -> None:
        self.governors = governors
        self.priorities = priorities

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        there = list(graph.governors.values())
        for task in news.submitted:
            position = task.order - 1
            priority = self.priorities[position] if self.priorities else 0
            plan.assign(task, there[self.governors[position]], priority)


class Lazy:
    """Never plans anything."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        pass


def cluster(
    *cpus: int, bandwidth: float = 100.0, latency: float = 0.0, downloads: int = 8
) -> Cluster:
    """Governors with these numbers of cpus; no latency by default; MiB per second."""
    governors = tuple(Resources(count) for count in cpus)
    return Cluster("test", governors, bandwidth * MIB, latency, downloads)


def run(
    workload: Workload,
    on: Cluster,
    scheduler: Scheduler | None = None,
    *,
    estimates: Estimates = Estimates.EXACT,
    overheads: Overheads = FREE,
) -> Outcome:
    """Runs with every checker on."""
    setup = Setup(workload, on, expect(workload, estimates), overheads, checking=True)
    return Simulation(setup, WatchedScheduler(scheduler or RainScheduler())).run()


def run_unchecked(workload: Workload, on: Cluster, scheduler: Scheduler) -> Outcome:
    """For large graphs, where a recount after every turn takes long."""
    setup = Setup(workload, on, expect(workload, Estimates.EXACT))
    return Simulation(setup, WatchedScheduler(scheduler)).run()


def digest_of(name: str, seed: int) -> str:
    """The digest of a run of some graph."""
    return run_unchecked(make(name, seed), cluster(4, 4, 4), RainScheduler()).digest
