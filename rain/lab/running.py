"""Runs entries in sequence or in several processes; the only module of the lab with a clock."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from attrs import evolve

from rain.base.errors import InvariantError, RainError
from rain.lab.bounds import bounds
from rain.lab.estimates import expect
from rain.lab.families import make
from rain.lab.files import is_file, read_file
from rain.lab.league import Failure, LeagueEntry, LeagueResult
from rain.lab.outcome import Outcome
from rain.lab.setup import Setup
from rain.lab.simulation import Simulation
from rain.lab.watched import WatchedScheduler
from rain.lab.workload import Cluster, LabError, Workload
from rain.server.core.scheduling import make_in_time
from rain.server.guard import guard_meanwhile
from rain.server.plugins import maker_of


def load(graph: str, seed: int) -> Workload:
    """Returns the graph of a family or of a file."""
    return read_file(graph).workload if is_file(graph) else make(graph, seed)


def run_entry(entry: LeagueEntry) -> LeagueResult:
    """Runs one entry in this process."""
    instance = entry.instance
    workload = load(instance.graph, instance.seed)
    check_fits(workload, instance.cluster)
    least = bounds(workload, instance.cluster)  # this also detects cycles
    setup = Setup(workload, instance.cluster, expect(workload, instance.estimates), entry.overheads)
    outcome = run_guarded(setup, entry.scheduler, entry.limit)
    if not entry.placed:
        outcome.placements = []
    return LeagueResult(entry, workload.name, len(workload.tasks), least, outcome)


def run_guarded(setup: Setup, name: str, limit: float) -> Outcome:
    """Runs one graph with a scheduler that may take `limit` seconds of real time per run."""
    setup = evolve(setup, settings=evolve(setup.settings, scheduler_limit=limit))
    with guard_meanwhile(limit) as guard:
        made = make_in_time(maker_of(name), guard, name, limit)
        scheduler = WatchedScheduler(made, time.perf_counter, name)
        return Simulation(setup, scheduler, guard=guard).run()


def check_fits(workload: Workload, cluster: Cluster) -> None:
    """Checks that every task fits some governor; else it would never run."""
    sorts = list(dict.fromkeys(cluster.governors))
    for number, task in enumerate(workload.tasks):
        if not any(task.resources.fits(sort) for sort in sorts):
            needs = ", ".join(f"{name}={amount}" for name, amount in task.resources.items())
            raise LabError(
                f"the task {workload.id_of(number)!r} of {workload.name!r} needs {needs},"
                f" which no governor of the cluster {cluster.name!r} has"
            )


def try_entry(entry: LeagueEntry) -> LeagueResult | Failure:
    """Runs one entry; a failure of its scheduler does not affect the others."""
    try:
        return run_entry(entry)
    except RainError as error:
        if isinstance(error, InvariantError):
            raise
        return Failure(entry, str(error))


def run_all(entries: Sequence[LeagueEntry], jobs: int) -> Iterator[LeagueResult | Failure]:
    """Runs all entries in order, in up to `jobs` processes."""
    if jobs < 2 or len(entries) < 2:
        yield from map(try_entry, entries)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(entries)), context) as pool:
        yield from pool.map(try_entry, entries)
