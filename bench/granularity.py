"""`python -m bench granularity`: how short tasks may be until the overhead dominates.

For each pattern of rows it searches the task length at which the cpus spend half of their time in
tasks: the minimum effective task granularity at 50 % efficiency. It also times whole, realistic
pipelines.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

import click

from bench.comparison import Comparison, comparison_options
from bench.elsewhere import Clocks, available
from bench.options import names_option
from bench.patterns import PATTERNS, rows
from bench.pipelines import pipelines
from bench.plot import draw_lines
from bench.results import Quantity, Results, Unit
from bench.runners import Runner, System
from bench.searching import Search
from bench.shapes import Shape, merge_slow
from bench.turn import Figure, Options, timed

START = 1000  # microseconds: start of the first search; others start at the last result
WORK_SECONDS = 1.0  # seconds of work for each cpu in one run
LEAST_ROWS = 5
ELSEWHERE = "cpus that others had"
NOTEWORTHY = 0.05  # of the cpus


def rows_of(width: int, steps: int, microseconds: int, cpus: int) -> int:
    """The number of rows of one run: all of them, or fewer if that is enough work."""
    enough = round(WORK_SECONDS * cpus * 1e6 / (width * microseconds))
    return min(steps, max(LEAST_ROWS, enough))


def efficiency(shape: Shape, microseconds: int, cpus: float, seconds: float) -> float:
    """The fraction of the cpus' time that was spent in tasks."""
    return 0.0 if not cpus else shape.task_count * microseconds / 1e6 / (cpus * seconds)


def granularity_name(pattern: str) -> str:
    return f"{pattern}, 50 % efficient from"


def whole_shapes(parts: int) -> tuple[Shape, ...]:
    """The shapes that are timed as a whole."""
    return (merge_slow(parts * 20, 1000), *pipelines(parts))


def quantities(patterns: Sequence[str], parts: int) -> list[Quantity]:
    return [
        *(Quantity(granularity_name(pattern)) for pattern in patterns),
        *(
            Quantity(shape.name, shape.task_count, Unit.TASKS_PER_SECOND)
            for shape in whole_shapes(parts)
        ),
    ]


def look(runner: Runner, pattern: str, microseconds: int, options: Options) -> tuple[float, float]:
    """The efficiency of tasks of one length, and the cpus that other programs used meanwhile."""
    cpus, width = options["cpus"], options["width"]
    count = rows_of(width, options["steps"], microseconds, cpus)
    shape = rows(pattern, width, count, microseconds)
    before = Clocks.read()
    seconds = timed(runner, shape)
    elsewhere = Clocks.read().elsewhere_since(before)
    there = available(cpus, elsewhere, os.cpu_count() or cpus)
    return efficiency(shape, microseconds, there, seconds), elsewhere


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    start = START
    for pattern in options["patterns"]:
        searching = Search(start)
        points: list[tuple[int, float]] = []
        while (microseconds := searching.length) is not None:
            part, elsewhere = look(runner, pattern, microseconds, options)
            searching.note(part)
            points.append((microseconds, part))
            yield f"{pattern} of {microseconds:,} µs", None, None
            yield ELSEWHERE, None, elsewhere
        found = searching.answer
        start = round(found or START)
        yield granularity_name(pattern), found and found / 1e6, points
    for shape in whole_shapes(options["parts"]):
        yield shape.name, timed(runner, shape), None


@click.command(name="granularity")
@names_option("--patterns", PATTERNS, explained="Which tasks of the previous row a task reads.")
@click.option(
    "--width", type=click.IntRange(min=2), default=8, show_default=True, help="Tasks in a row."
)
@click.option("--steps", type=click.IntRange(min=2), default=40, show_default=True, help="Rows.")
@click.option(
    "--parts",
    type=click.IntRange(min=4),
    default=32,
    show_default=True,
    help="The number of parts into which the pipelines split their data.",
)
@comparison_options("granularity", repeat=3)
def command(
    comparison: Comparison, patterns: tuple[str, ...], width: int, steps: int, parts: int
) -> None:
    """Measure how short tasks may be, and how long whole pipelines take."""
    results = comparison.measure(
        {"patterns": patterns, "width": width, "steps": steps, "parts": parts},
        quantities(patterns, parts),
        graphs=True,
    )
    if warning := told_of_others(results):
        click.echo(warning, err=True)

    def draw(file: Path) -> None:
        if patterns:
            draw_lines(
                curves(results.details, patterns[0]),
                file=file,
                across="length of a task, ms",
                upwards=f"fraction of the cpus' time in tasks, {patterns[0]}",
            )

    comparison.deliver(f"Tasks in rows of {width}, and pipelines", results, draw)


def told_of_others(results: Results) -> str:
    """A line of text if other programs used a noteworthy part of the machine."""
    had = [
        cpus
        for by_name in results.details.values()
        for cpus in by_name.get(ELSEWHERE, [])
        if isinstance(cpus, float)
    ]
    if not had or mean(had) < NOTEWORTHY:
        return ""
    return (
        f"Other programs used {mean(had):.2f} cpus of this machine meanwhile. Their time is not"
        " counted, so a system that waits a lot looks better here than on an idle machine."
    )


def curves(
    details: dict[str, dict[str, list[object]]], pattern: str
) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds and efficiency of every system, over all turns, sorted by length."""
    found: dict[str, list[tuple[float, float]]] = {}
    for system, by_name in details.items():
        points: list[tuple[float, float]] = []
        for turn in by_name.get(granularity_name(pattern), []):
            assert isinstance(turn, list)
            points += [(microseconds / 1000, part) for microseconds, part in turn]
        if points:
            found[system] = sorted(points)
    return found
