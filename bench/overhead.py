"""`python -m bench overhead`: what a task costs, on ours and on the peers, in turns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bench.options import (
    WRITABLE,
    Delivery,
    comparison_options,
    delivery_options,
    new_console,
    numbers_option,
    plot_option,
)
from bench.plot import draw_bars, require_matplotlib
from bench.profiled import profile
from bench.report import results_sheet, results_values
from bench.results import Quantity, Unit
from bench.runners import Runner, System, distributions
from bench.shapes import Shape, chain, deepest_tree, independent, merge, tree
from bench.sheet import Sheet
from bench.turn import Figure, Options, timed
from bench.turns import Plan, choose_systems, measure_in_turns

LARGEST_TREE = 2**14 - 1
LONGEST_CHAIN = 1000


def overhead_shapes(sizes: Sequence[int]) -> list[tuple[Quantity, Shape]]:
    """Independent tasks of every size; the other shapes need only one to show what they cost."""
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
    "--sizes", default="10000,100000", explained="Numbers of tasks; peers are slow at large ones."
)
@comparison_options(repeat=3)
@delivery_options
@plot_option
@click.option("--profile", "profiled", is_flag=True, help="Show where our microseconds go.")
@click.option(
    "--stacks", "stacks_file", type=WRITABLE, help="Write the stacks of the profile to this file."
)
def command(
    sizes: tuple[int, ...],
    repeat: int,
    cpus: int,
    peers: tuple[str, ...],
    limit: float,
    json_file: Path | None,
    markdown: bool,
    plot_file: Path | None,
    profiled: bool,
    stacks_file: Path | None,
) -> None:
    """What a tiny task costs, in five shapes."""
    if plot_file:
        require_matplotlib()
    console = new_console()
    systems = choose_systems(peers, console)
    plan = Plan("bench.overhead", {"cpus": cpus, "sizes": sizes}, repeat, limit)
    quantities = [quantity for quantity, _ in overhead_shapes(sizes)]
    results = measure_in_turns(systems, quantities, plan, console)
    profiles: list[tuple[Sheet, dict[str, object]]] = []
    if profiled or stacks_file:
        profiles = profile(min(sizes), cpus, limit, stacks_file, console)
    Delivery(json_file, markdown).deliver(
        console,
        "overhead",
        [results_sheet("Overhead of a task", results), *(sheet for sheet, _ in profiles)],
        {
            "cpus_used": cpus,
            "turns": repeat,
            **results_values(results),
            "profiles": [values for _, values in profiles],
        },
        distributions(systems),
    )
    if plot_file:
        draw_bars(results, plot_file)
