"""`python -m bench frontdoor`: futures, joblib and Dask's collections, beside what people use.

The limit for joblib is loky, its own processes, which have no server between them.
"""

from collections.abc import Iterator, Mapping

import click

from bench.comparison import Comparison, comparison_options
from bench.doors import DOORS
from bench.plot import draw_bars
from bench.results import Quantity, Unit
from bench.runners import LOKY, PEERS, Runner, System
from bench.turn import Figure, Options

SIZES = {
    "map and gather": 10_000,
    "submit and result, p50": 500,
    "joblib": 10_000,
    "array (x + x.T).sum()": 1_024,
    "groupby of a data frame": 100,
    "as_completed": 100_000,
    "wait for all": 100_000,
    "callback, p90": 200,
}
"""Of each row: calls, rounds, chunks, partitions."""

FEW = 16

_RATES = ("map and gather", "joblib", "as_completed", "wait for all")

_PEERS = {name: PEERS[name] for name in ("dask", "ray")}


def quantities(sizes: Mapping[str, int]) -> list[Quantity]:
    """Rates for what consists of calls, times for all else."""
    return [
        Quantity(name, size, Unit.TASKS_PER_SECOND)
        if name in _RATES
        else Quantity(name, 1, Unit.MILLISECONDS)
        for name, size in sizes.items()
    ]


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    for name, doors in DOORS:
        door = doors.get(system.name)
        if door is not None:
            door(runner, FEW)  # the workers import what they need
            yield name, door(runner, options["sizes"][name]), None


@click.command(name="frontdoor")
@click.option(
    "--divide",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Make all sizes smaller by this factor.",
)
@comparison_options("frontdoor", repeat=3, peers=_PEERS)
def command(comparison: Comparison, divide: int) -> None:
    """Measure futures, joblib and Dask's collections."""
    sizes = {name: max(size // divide, 4) for name, size in SIZES.items()}
    results = comparison.measure({"sizes": sizes}, quantities(sizes), limits=[LOKY])
    comparison.deliver("The front door", results, lambda file: draw_bars(results, file))
