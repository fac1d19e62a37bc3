"""`python -m bench nested`: tasks that submit tasks and wait for them.

Every call of the tree submits two calls and waits for both. Its first run starts the processes in
which calls wait; the runs after it find them. In the other shape a single call waits for many.
"""

from collections.abc import Iterator
from time import perf_counter

import click

from bench.comparison import Comparison, comparison_options
from bench.plot import draw_bars
from bench.results import Quantity
from bench.runners import NESTING_PEERS, NestingRunner, Runner, System
from bench.shapes import WrongAnswer
from bench.turn import Figure, Options

FIRST, AGAIN, FAN = "tree, first", "tree, again", "one call that waits for many"


def calls_of_tree(depth: int) -> int:
    return (2 << depth) - 1


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    if not isinstance(runner, NestingRunner):
        raise click.ClickException(f"{system.name} runs no tasks that submit tasks")
    depth, calls = options["depth"], options["calls"]

    def seconds(answer: int, expected: int, begun: float) -> float:
        needed = perf_counter() - begun
        if answer != expected:
            raise WrongAnswer(f"nested calls gave {answer}, and not {expected}")
        return needed

    for number in range(1 + options["again"]):
        begun = perf_counter()
        needed = seconds(runner.run_tree(depth), calls_of_tree(depth), begun)
        yield AGAIN if number else FIRST, needed, None
    for _ in range(options["again"]):
        begun = perf_counter()
        yield FAN, seconds(runner.run_fan(calls), calls, begun), None


@click.command(name="nested")
@click.option(
    "--depth", type=click.IntRange(min=1), default=7, show_default=True, help="Of the tree."
)
@click.option(
    "--calls", type=click.IntRange(min=1), default=1000, show_default=True, help="Of one call."
)
@click.option(
    "--again",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How often each cluster repeats what it has run once.",
)
@comparison_options("nested", repeat=3, peers=NESTING_PEERS)
def command(comparison: Comparison, depth: int, calls: int, again: int) -> None:
    """Measure tasks that submit tasks and wait for them."""
    tree = calls_of_tree(depth)
    quantities = [Quantity(FIRST, tree), Quantity(AGAIN, tree), Quantity(FAN, calls)]
    results = comparison.measure({"depth": depth, "calls": calls, "again": again}, quantities)
    comparison.deliver("Tasks of tasks", results, lambda file: draw_bars(results, file))
