"""Carries out a command line of `rain lab`: runs, tables, files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from attrs import evolve, frozen
from rich.console import Console

from rain.lab.clusters import make_cluster, read_cluster
from rain.lab.estimates import Estimates
from rain.lab.families import FAMILIES, SETS, describe
from rain.lab.files import is_file, read_file, write_json, write_text
from rain.lab.format import write_graph
from rain.lab.league import Failure, Instance, LeagueEntry, LeagueResult
from rain.lab.plots import Chart, bars, gantt
from rain.lab.replaying import ask, open_run
from rain.lab.running import load, run_all
from rain.lab.tables import print_results, print_what_if
from rain.lab.values import report, what_if_report
from rain.lab.workload import MIB, Cluster, LabError, Overheads
from rain.scheduler import DEFAULT
from rain.server.core.scheduling import make_in_time
from rain.server.guard import guard_meanwhile
from rain.server.plugins import maker_of

CLUSTER = "8x4"
BANDWIDTH = 128.0  # MiB per second
DRAWN = 12
"""The most runs in one drawing."""


@frozen
class LabQuestion:
    """The command line. A value that is None or empty was not given."""

    graphs: tuple[str, ...]
    schedulers: tuple[str, ...]
    clusters: tuple[str, ...]
    bandwidths: tuple[float, ...]
    estimates: tuple[str, ...]
    latency: float | None
    downloads: int | None
    overheads: Overheads
    seeds: tuple[int, ...]
    jobs: int
    limit: float
    json: Path | None = None
    export: Path | None = None
    listed: bool = False
    recording: Path | None = None
    gantt: Path | None = None
    bars: Path | None = None


def answer(question: LabQuestion, console: Console) -> None:
    """Carries out the command line."""
    if question.listed:
        for name in FAMILIES:
            console.print(describe(name), highlight=False, markup=False)
        return
    if question.recording is not None:
        what_if(question, question.recording, console)
        return
    graphs = graphs_of(question)
    if question.export is not None:
        export(question, graphs, question.export)
        return
    _try_to_make(question)
    asked = entries(question, graphs)
    if question.gantt is not None and len(asked) > DRAWN:
        raise LabError(f"--gantt draws {DRAWN} runs at most, and these are {len(asked)}")
    found = list(run_all(asked, question.jobs))
    failures = [one for one in found if isinstance(one, Failure)]
    failed = dict.fromkeys(failure.entry.scheduler for failure in failures)
    results = [
        one for one in found if isinstance(one, LeagueResult) and one.entry.scheduler not in failed
    ]
    if results:
        write_results(question, results, console)
    if failures:
        raise LabError(_told(failures, failed))


def _try_to_make(question: LabQuestion) -> None:
    """Reports a scheduler that is missing or cannot be made before anything runs."""
    with guard_meanwhile(question.limit) as guard:
        for name in question.schedulers:
            make_in_time(maker_of(name), guard, name, question.limit)


def _told(failures: list[Failure], failed: Iterable[str]) -> str:
    """Says which schedulers are not in the tables, with the first reason for each."""
    reasons = {failure.entry.scheduler: failure.why for failure in reversed(failures)}
    return "; ".join(reasons[name] for name in failed)


def write_results(question: LabQuestion, results: list[LeagueResult], console: Console) -> None:
    """Prints the tables and writes the requested files."""
    print_results(results, console)
    if question.json is not None:
        write_json(question.json, report(results))
    if question.bars is not None:
        write_text(question.bars, bars(results))
    if question.gantt is not None:
        write_text(question.gantt, gantt([_chart(result) for result in results]))


def _chart(result: LeagueResult) -> Chart:
    instance = result.entry.instance
    workload = load(instance.graph, instance.seed)
    return Chart(
        f"{result.graph}, {result.entry.scheduler}, {instance.cluster.name}",
        result.outcome,
        [task.name for task in workload.tasks],
        len(instance.cluster.governors),
    )


def what_if(question: LabQuestion, path: Path, console: Console) -> None:
    """Simulates a recorded run with the requested schedulers and clusters."""
    if question.graphs:
        raise LabError("--recording has its own graph: name no other graph")
    _try_to_make(question)
    run, scheduler = open_run(path)
    speeds = [speed * MIB for speed in question.bandwidths] or [run.cluster.bandwidth]
    clusters: list[Cluster] = []
    for text, speed in product(question.clusters or (run.cluster.name,), speeds):
        own = text == run.cluster.name
        governors = run.cluster.governors if own else read_cluster(text)
        name = f"{text} {speed / MIB:g} MiB/s" if question.bandwidths else text
        clusters.append(evolve(run.cluster, name=name, governors=governors, bandwidth=speed))
    found = ask(run, scheduler, question.schedulers, clusters, question.limit)
    print_what_if(found, console)
    if question.json is not None:
        write_json(question.json, what_if_report(found))
    if question.gantt is not None:
        names = [task.name for task in run.workload.tasks]
        charts = [
            Chart(
                f"{row.scheduler}, {row.cluster.name}",
                row.outcome,
                names,
                len(row.cluster.governors),
            )
            for row in (found.same, *found.others)
        ]
        write_text(question.gantt, gantt(charts))


def graphs_of(question: LabQuestion) -> list[str]:
    """The requested graphs, with sets expanded."""
    graphs = [found for name in question.graphs for found in SETS.get(name, (name,))]
    if not graphs:
        raise LabError("name a graph or a file; --list shows the graphs that the lab can make")
    return graphs


def entries(question: LabQuestion, graphs: list[str]) -> list[LeagueEntry]:
    """All entries to run, one instance after the other."""
    instances = [
        Instance(graph, seed, cluster, Estimates(estimates))
        for graph in graphs
        for cluster, estimates in product(clusters_of(question, graph), question.estimates)
        for seed in ((0,) if is_file(graph) else question.seeds)
    ]
    schedulers = dict.fromkeys(question.schedulers or (DEFAULT,))
    return [
        LeagueEntry(
            instance, scheduler, question.overheads, question.gantt is not None, question.limit
        )
        for instance, scheduler in product(instances, schedulers)
    ]


def clusters_of(question: LabQuestion, graph: str) -> list[Cluster]:
    """The clusters of the command line, or the cluster of the graph file."""
    own = read_file(graph).cluster if is_file(graph) else None
    speeds = question.bandwidths
    if own is None or question.clusters:
        found = [
            make_cluster(text, speed)
            for text, speed in product(question.clusters or (CLUSTER,), speeds or (BANDWIDTH,))
        ]
    elif speeds:
        found = [
            evolve(own, name=f"{own.name} {speed:g} MiB/s", bandwidth=speed * MIB)
            for speed in speeds
        ]
    else:
        found = [own]
    if question.latency is not None:
        found = [evolve(cluster, latency=question.latency) for cluster in found]
    if question.downloads is not None:
        found = [evolve(cluster, downloads=question.downloads) for cluster in found]
    return found


def export(question: LabQuestion, graphs: list[str], path: Path) -> None:
    """Writes one graph to a file, with its cluster if one was given."""
    clusters = clusters_of(question, graphs[0])
    if len(graphs) != 1 or len(question.seeds) != 1 or len(clusters) != 1:
        raise LabError("--export writes one graph, of one seed and with one cluster")
    workload = load(graphs[0], question.seeds[0])
    write_json(path, write_graph(workload, clusters[0]))
