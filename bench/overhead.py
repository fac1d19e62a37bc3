"""`python -m bench overhead`: the overhead of a task in Rain and its peers, in turns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bench.comparison import Comparison, comparison_options
from bench.options import WRITABLE, new_console, numbers_option
from bench.plot import draw_bars
from bench.profiled import profile
from bench.results import Quantity, Unit
from bench.runners import Runner, System
from bench.shapes import Shape, chain, deepest_tree, independent, merge, tree
from bench.sheet import Sheet
from bench.turn import Figure, Options, timed

LARGEST_TREE = 2**14 - 1
LONGEST_CHAIN = 1000


def overhead_shapes(sizes: Sequence[int]) -> list[tuple[Quantity, Shape]]:
    """Independent tasks of every size, and the other shapes of one size."""
    fewest = min(sizes)
    shapes = [
        *(independent(size) for size in sizes),
        merge(fewest),
        tree(deepest_tree(min(max(sizes), LARGEST_TREE))),
        chain(min(fewest, LONGEST_CHAIN)),
    ]
    return [(_quantity(shape, several=len(sizes) > 1), shape) for shape in shapes]


def _quantity(shape: Shape, *, several: bool) -> Quantity:
    name, tasks = shape.name, shape.task_count
    if name == "chain":
        return Quantity(name, tasks, Unit.MILLISECONDS)
    if name == "independent" and several:
        name = f"{name}, {tasks:,}"
    return Quantity(name, tasks, Unit.TASKS_PER_SECOND)


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    for quantity, shape in overhead_shapes(options["sizes"]):
        if system.can_run(shape):
            yield quantity.name, timed(runner, shape), None


@click.command(name="overhead")
@numbers_option(
    "--sizes", default="10000,100000", explained="Numbers of tasks; peers are slow with large ones."
)
@click.option("--profile", "profiled", is_flag=True, help="Show where our microseconds go.")
@click.option(
    "--stacks", "stacks_file", type=WRITABLE, help="Write the stacks of the profile to this file."
)
@comparison_options("overhead", repeat=3)
def command(
    comparison: Comparison, sizes: tuple[int, ...], profiled: bool, stacks_file: Path | None
) -> None:
    """Measure the overhead of a tiny task, in five shapes."""
    quantities = [quantity for quantity, _ in overhead_shapes(sizes)]
    results = comparison.measure({"sizes": sizes}, quantities)
    profiles: list[tuple[Sheet, dict[str, object]]] = []
    if profiled or stacks_file:
        profiles = profile(
            min(sizes), comparison.cpus, comparison.limit, stacks_file, new_console(stderr=True)
        )
    comparison.deliver(
        "Overhead of a task",
        results,
        lambda file: draw_bars(results, file),
        more_sheets=[sheet for sheet, _ in profiles],
        more_values={"profiles": [values for _, values in profiles]},
    )
