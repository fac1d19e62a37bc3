"""What `rain lab` was asked for, and how it answers: runs, tables, files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from attrs import frozen
from rich.console import Console

from rain.lab.clusters import make_cluster
from rain.lab.estimates import Estimates
from rain.lab.families import FAMILIES, SETS
from rain.lab.league import Entry, Instance
from rain.lab.running import run_all
from rain.lab.tables import print_results
from rain.lab.values import report
from rain.lab.workload import LabError, Overheads
from rain.server.plugins import make_scheduler


@frozen
class Question:
    """The command line."""

    graphs: tuple[str, ...]
    schedulers: tuple[str, ...]
    clusters: tuple[str, ...]
    bandwidths: tuple[float, ...]
    estimates: tuple[str, ...]
    latency: float
    downloads: int
    overheads: Overheads
    seeds: tuple[int, ...]
    jobs: int
    json: Path | None = None
    listed: bool = False


def answer(question: Question, console: Console) -> None:
    """Does what was asked for."""
    if question.listed:
        for name, family in FAMILIES.items():
            console.print(f"{name}: {(family.__doc__ or '').strip()}", highlight=False)
        return
    for name in question.schedulers:
        make_scheduler(name)  # a missing one is told before anything runs
    results = list(run_all(entries(question), question.jobs))
    print_results(results, console)
    if question.json is not None:
        write_json(question.json, report(results))


def entries(question: Question) -> list[Entry]:
    """Everything that is to run, one instance after the other."""
    graphs = [found for name in question.graphs for found in SETS.get(name, (name,))]
    if not graphs:
        raise LabError("name a graph or a file; --list shows the graphs that the lab can make")
    clusters = [
        make_cluster(text, bandwidth, question.latency, question.downloads)
        for text, bandwidth in product(question.clusters, question.bandwidths)
    ]
    instances = [
        Instance(graph, seed, cluster, Estimates(estimates))
        for graph, cluster, estimates in product(graphs, clusters, question.estimates)
        for seed in question.seeds
    ]
    return [
        Entry(instance, scheduler, question.overheads)
        for instance, scheduler in product(instances, dict.fromkeys(question.schedulers))
    ]


def write_json(path: Path, values: Sequence[object] | dict[str, object]) -> None:
    """Writes values for other programs."""
    try:
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}") from error
