"""Turns measurements into a table to read and into values to keep."""

from bench.results import Results
from bench.runners import OURS
from bench.shapes import Shape, Unit
from bench.sheet import Sheet
from bench.summary import Summary, summarize, times_faster


def describe(shape: Shape, summary: Summary) -> str:
    """A time in the unit that suits the shape, with its spread."""
    if shape.unit is Unit.TASKS_PER_SECOND:
        text = f"{shape.task_count / summary.median:,.0f}"
    else:
        text = f"{summary.median / shape.task_count * 1000:.3g}"
    return f"{text} ±{summary.spread / 2:.0%}"


def ratio(results: Results, shape: Shape) -> float | None:
    """How many times faster ours is than the better peer, by the medians."""
    medians = {system: summarize(results.of(system, shape)).median for system in results.systems}
    ours = medians.pop(OURS.name)
    return times_faster(ours, medians.values())


def overhead_sheet(results: Results) -> Sheet:
    turns = len(results.of(OURS.name, results.shapes[0]))
    rows: list[tuple[str, ...]] = []
    for shape in results.shapes:
        times = ratio(results, shape)
        rows.append(
            (
                shape.name,
                shape.unit.value,
                f"{shape.task_count:,}",
                *(describe(shape, summarize(results.of(name, shape))) for name in results.systems),
                "-" if times is None else f"{times:.1f}x",
            )
        )
    return Sheet(
        title="Overhead of a task",
        columns=("shape", "unit", "tasks", *results.systems, "ratio"),
        rows=tuple(rows),
        caption=f"Medians of {turns} turn{'s' if turns > 1 else ''} and half of their range;"
        " ratio: against the better peer, above 1 is faster.",
        words=2,
    )


def overhead_values(results: Results) -> dict[str, object]:
    """Everything that the table was made of, for `--json`."""
    return {
        shape.name: {
            "tasks": shape.task_count,
            "rounds": shape.rounds,
            "seconds": {name: results.of(name, shape) for name in results.systems},
            "median": {name: summarize(results.of(name, shape)).median for name in results.systems},
            "spread": {name: summarize(results.of(name, shape)).spread for name in results.systems},
            "times_faster_than_better_peer": ratio(results, shape),
        }
        for shape in results.shapes
    }
