"""`python -m bench granularity`: how short tasks may be before a system is busier than its tasks.

For each pattern of rows the length of the tasks is searched at which the cpus spend half of their
time in tasks: the minimum effective task granularity at 50 % efficiency. Beside that, whole
pipelines as people write them are timed.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from attrs import frozen

from bench.options import Delivery, comparison_options, delivery_options, new_console, plot_option
from bench.patterns import PATTERNS, rows
from bench.pipelines import pipelines
from bench.plot import draw_lines, require_matplotlib
from bench.report import results_sheet, results_values
from bench.results import Quantity, Unit
from bench.runners import Runner, System, distributions
from bench.shapes import Shape, merge_slow
from bench.turn import Figure, Options, timed
from bench.turns import Plan, choose_systems, measure_in_turns

HALF = 0.5
SHORTEST, LONGEST = 20, 200_000  # microseconds: what is searched
TRIES = 2  # the better one counts: what disturbs a run only makes it longer
CLOSE_ENOUGH = 1.1  # the search ends when its ends are so near to each other


@frozen
class Point:
    """How well the cpus were used with tasks of one length."""

    microseconds: int
    efficiency: float


def search(efficiency_at: Callable[[int], float]) -> tuple[float | None, list[Point]]:
    """The microseconds at which half of the time is spent in tasks, and all that was tried.

    The length is multiplied until the tasks are long enough; then the interval is halved, by ratio,
    and the answer lies on the line between its ends. None when no length was enough.
    """
    tried: list[Point] = []

    def look(microseconds: int) -> Point:
        tried.append(Point(microseconds, efficiency_at(microseconds)))
        return tried[-1]

    low = high = look(SHORTEST)
    while high.efficiency < HALF:
        if high.microseconds >= LONGEST:
            return None, tried
        low, high = high, look(min(high.microseconds * 4, LONGEST))
    while high.microseconds > low.microseconds * CLOSE_ENOUGH:
        middle = look(round((low.microseconds * high.microseconds) ** 0.5))
        if middle.microseconds in {low.microseconds, high.microseconds}:
            break
        if middle.efficiency < HALF:
            low = middle
        else:
            high = middle
    return _between(low, high), tried


def _between(low: Point, high: Point) -> float:
    if low.efficiency >= high.efficiency:
        return float(high.microseconds)
    part = (HALF - low.efficiency) / (high.efficiency - low.efficiency)
    return low.microseconds + min(1.0, max(0.0, part)) * (high.microseconds - low.microseconds)


def efficiency(shape: Shape, microseconds: int, cpus: int, seconds: float) -> float:
    """Which part of the cpus' time was spent in tasks."""
    return shape.task_count * microseconds / 1e6 / (cpus * seconds)


def granularity_name(pattern: str) -> str:
    return f"{pattern}, 50 % efficient from"


def whole_shapes(parts: int) -> tuple[Shape, ...]:
    """What is timed as a whole."""
    return (merge_slow(parts * 20, 1000), *pipelines(parts))


def quantities(patterns: Sequence[str], parts: int) -> list[Quantity]:
    return [
        *(Quantity(granularity_name(pattern)) for pattern in patterns),
        *(
            Quantity(shape.name, shape.task_count, Unit.TASKS_PER_SECOND)
            for shape in whole_shapes(parts)
        ),
    ]


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    cpus, width, steps = options["cpus"], options["width"], options["steps"]
    if not system.graphs:
        return
    for pattern in options["patterns"]:

        def efficiency_at(microseconds: int, pattern: str = pattern) -> float:
            shape = rows(pattern, width, steps, microseconds)
            seconds = min(timed(runner, shape) for _ in range(TRIES))
            return efficiency(shape, microseconds, cpus, seconds)

        microseconds, tried = search(efficiency_at)
        points = [[point.microseconds, point.efficiency] for point in tried]
        yield granularity_name(pattern), microseconds and microseconds / 1e6, points
    for shape in whole_shapes(options["parts"]):
        yield shape.name, timed(runner, shape), None


def read_patterns(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    for name in names:
        if name not in PATTERNS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(PATTERNS)}", ctx, param)
    return names


@click.command(name="granularity")
@click.option(
    "--patterns",
    callback=read_patterns,
    default=",".join(PATTERNS),
    show_default=True,
    help="Which tasks of the row before a task reads.",
)
@click.option(
    "--width", type=click.IntRange(min=2), default=8, show_default=True, help="Tasks in a row."
)
@click.option("--steps", type=click.IntRange(min=2), default=40, show_default=True, help="Rows.")
@click.option(
    "--parts",
    type=click.IntRange(min=4),
    default=32,
    show_default=True,
    help="Into how many parts the pipelines cut their data.",
)
@comparison_options(repeat=3)
@delivery_options
@plot_option
def command(
    patterns: tuple[str, ...],
    width: int,
    steps: int,
    parts: int,
    repeat: int,
    cpus: int,
    peers: tuple[str, ...],
    limit: float,
    json_file: Path | None,
    markdown: bool,
    plot_file: Path | None,
) -> None:
    """How short tasks may be, and how long whole pipelines take."""
    if plot_file:
        require_matplotlib()
    console = new_console()
    systems = [one for one in choose_systems(peers, console) if one.graphs]
    options = {"cpus": cpus, "patterns": patterns, "width": width, "steps": steps, "parts": parts}
    plan = Plan("bench.granularity", options, repeat, limit)
    results = measure_in_turns(systems, quantities(patterns, parts), plan, console)
    Delivery(json_file, markdown).deliver(
        console,
        "granularity",
        [results_sheet(f"Tasks in rows of {width}, and pipelines", results)],
        {"cpus_used": cpus, "turns": repeat, **results_values(results)},
        distributions(systems),
    )
    if plot_file and patterns:
        draw_lines(
            curves(results.details, patterns[0]),
            file=plot_file,
            across="length of a task, ms",
            upwards=f"part of the cpus' time in tasks, {patterns[0]}",
        )


def curves(
    details: dict[str, dict[str, list[object]]], pattern: str
) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds and efficiency of every system, over all turns, from short to long."""
    found: dict[str, list[tuple[float, float]]] = {}
    for system, by_name in details.items():
        points: list[tuple[float, float]] = []
        for turn in by_name.get(granularity_name(pattern), []):
            assert isinstance(turn, list)
            points += [(microseconds / 1000, part) for microseconds, part in turn]
        if points:
            found[system] = sorted(points)
    return found
