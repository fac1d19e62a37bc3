"""The command `rain lab`."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

import click

from rain.cli.options import file, seconds


def words(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Splits words at commas."""
    return tuple(word.strip() for word in value.split(",") if word.strip())


def estimates_of(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Parses the kinds of estimates."""
    found = words(ctx, param, value)
    for word in found:
        if word not in ESTIMATES:
            raise click.BadParameter(f"{word!r} is not one of {', '.join(ESTIMATES)}", ctx, param)
    return found


def speeds(ctx: click.Context, param: click.Parameter, value: str) -> tuple[float, ...]:
    """Parses a list of numbers above 0."""
    try:
        found = tuple(float(word) for word in words(ctx, param, value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers", ctx, param) from None
    if not all(0 < number < inf for number in found):
        raise click.BadParameter("a bandwidth must be above 0", ctx, param)
    return found


ESTIMATES = ("exact", "user", "learned", "mean", "none")
COUNT = click.IntRange(min=1)


@click.command()
@click.argument("graphs", nargs=-1, metavar="[GRAPH|FILE]...")
@click.option(
    "-s",
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME",
    help="A scheduler to judge: a name, or FILE.py:CLASS; may be repeated.",
)
@click.option(
    "--cluster",
    "clusters",
    callback=words,
    default="",
    metavar="LIST",
    help="Clusters: 8x4 (the default) is 8 governors with 4 cpus each; 8x4+2x16 mixes two kinds.",
)
@click.option(
    "--bandwidth",
    "bandwidths",
    callback=speeds,
    default="",
    metavar="LIST",
    help="MiB per second that each governor can send and receive; default 128.",
)
@click.option(
    "--estimates",
    callback=estimates_of,
    default="user",
    show_default=True,
    metavar="LIST",
    help="What schedulers know of durations and sizes: exact, user, learned, mean, none.",
)
@click.option(
    "--latency",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Seconds that each message takes; default 0.0005.",
)
@click.option(
    "--downloads",
    type=click.IntRange(1, 8),
    metavar="COUNT",
    help="How many objects a governor fetches at once; default 8.",
)
@seconds("--turn", 0.0, "Time of each turn of the server.")
@seconds("--scheduler-cost", 0.0, "Time of a scheduler for each piece of news.")
@seconds("--task-overhead", 0.0, "Overhead of each task beyond its duration.")
@seconds(
    "--scheduler-limit", 10.0, "Give up if one run of a scheduler takes longer in real time.", 0.001
)
@click.option(
    "--repeat", type=COUNT, metavar="COUNT", default=1, show_default=True, help="How many seeds."
)
@click.option(
    "--seed", type=int, metavar="NUMBER", default=1, show_default=True, help="The first seed."
)
@click.option(
    "-j", "--jobs", type=COUNT, metavar="COUNT", help="Processes at once; default one per cpu."
)
@file("--json", "Write every result to this file.")
@file("--gantt", "Draw a Gantt chart of all tasks as SVG.")
@file("--bars", "Draw a comparison of the schedulers as SVG.")
@file("--export", "Write the graph and its cluster to a JSON file, and run nothing.")
@file("--recording", "Ask what-if questions about a run recorded with `rain server --record`.")
@click.option(
    "--scaling",
    is_flag=True,
    help="Compare rules that start and end governors under bursts of work, and run nothing else.",
)
@click.option(
    "--servers",
    is_flag=True,
    help="Compare one server with several that share the sessions and the governors, and run"
    " nothing else.",
)
@click.option("--list", "listed", is_flag=True, help="Show the graphs that the lab can make.")
def lab(
    graphs: tuple[str, ...],
    schedulers: tuple[str, ...],
    clusters: tuple[str, ...],
    bandwidths: tuple[float, ...],
    estimates: tuple[str, ...],
    latency: float | None,
    downloads: int | None,
    turn: float,
    scheduler_cost: float,
    task_overhead: float,
    scheduler_limit: float,
    repeat: int,
    seed: int,
    jobs: int | None,
    json: Path | None,
    gantt: Path | None,
    bars: Path | None,
    export: Path | None,
    recording: Path | None,
    scaling: bool,
    servers: bool,
    listed: bool,
) -> None:
    """Judge schedulers in virtual time.

    Runs the real decision code of server and governors on simulated machines. GRAPH is a graph
    that the lab can generate (see --list; "elementary" is a set of them), or a JSON file.
    """
    from rich.console import Console

    if scaling:
        from rain.lab.scaling_league import compare, table

        Console().print(table(compare(seed)))
        return

    if servers:
        from rain.lab import servers_league

        Console().print(servers_league.table(servers_league.compare(seed)))
        return

    from rain.lab.asking import LabQuestion, answer
    from rain.lab.workload import Overheads

    question = LabQuestion(
        graphs=graphs,
        schedulers=schedulers,
        clusters=clusters,
        bandwidths=bandwidths,
        estimates=estimates,
        latency=latency,
        downloads=downloads,
        overheads=Overheads(task_overhead, turn, scheduler_cost),
        seeds=tuple(range(seed, seed + repeat)),
        limit=scheduler_limit,
        jobs=jobs or len(os.sched_getaffinity(0)),
        json=json,
        export=export,
        gantt=gantt,
        bars=bars,
        listed=listed,
        recording=recording,
    )
    answer(question, Console())
