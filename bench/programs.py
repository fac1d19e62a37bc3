"""`python -m bench programs`: external programs that do nothing, one after the other on each cpu.

The limit is a bare loop that starts equally many at a time and waits for them, without files,
folders and messages.
"""

from collections.abc import Iterator

import click

from bench.comparison import Comparison, comparison_options
from bench.plot import draw_bars
from bench.results import Quantity, Unit
from bench.runners import PROGRAM_PEERS, SPAWN, ProgramRunner, Runner, System
from bench.turn import Figure, Options

NAME = "true"
WARM_UP = 100


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    if not isinstance(runner, ProgramRunner):
        raise click.ClickException(f"{system.name} runs no programs")
    runner.run_programs(WARM_UP)
    yield NAME, runner.run_programs(options["count"]), None


@click.command(name="programs")
@click.option(
    "--count", type=click.IntRange(min=1), default=2000, show_default=True, help="Of programs."
)
@comparison_options("programs", repeat=3, peers=PROGRAM_PEERS)
def command(comparison: Comparison, count: int) -> None:
    """Measure programs per second, compared with HyperQueue and a bare loop."""
    quantities = [Quantity(NAME, count, Unit.TASKS_PER_SECOND)]
    results = comparison.measure({"count": count}, quantities, limits=[SPAWN])
    comparison.deliver("External programs", results, lambda file: draw_bars(results, file))
