"""What the benchmarks that compare Rain with its peers have in common: options, a run, its results.

The command of a comparison gets a `Comparison` instead of the options that all of them share, and
its module has the function `measure`, which every system runs in a process of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
from attrs import frozen

from bench.options import (
    WRITABLE,
    Delivery,
    delivery_options,
    names_option,
    new_console,
    repeat_option,
)
from bench.plot import require_matplotlib
from bench.report import results_sheet, results_values
from bench.results import Quantity, Results
from bench.runners import PEERS, SYSTEMS, System, distributions
from bench.sheet import Sheet
from bench.turn import Options
from bench.turns import Plan, choose_systems, measure_in_turns

Run: TypeAlias = Callable[..., None]
"""Takes a `Comparison`, and the options of its own by name."""


@frozen
class Comparison:
    """Whom to measure, how often, and where the results go."""

    benchmark: str
    repeat: int
    cpus: int
    peers: tuple[str, ...]
    limit: float
    delivery: Delivery
    plot_file: Path | None

    def measure(
        self,
        options: Options,
        quantities: Sequence[Quantity],
        *,
        graphs: bool = False,  # only those whose tasks can need each other
        limits: Sequence[System] = (),  # who runs beside the peers
    ) -> Results:
        """Run `measure` of the benchmark's module on all systems, in turns."""
        # What is under way goes where it does not get between the tables.
        console = new_console(stderr=True)
        chosen = (*choose_systems(self.peers, console), *limits)
        systems = [system for system in chosen if system.graphs or not graphs]
        plan = Plan(
            f"bench.{self.benchmark}", {"cpus": self.cpus, **options}, self.repeat, self.limit
        )
        return measure_in_turns(systems, quantities, plan, console)

    def deliver(
        self,
        title: str,
        results: Results,
        draw: Callable[[Path], None],
        *,
        more_sheets: Sequence[Sheet] = (),
        more_values: dict[str, object] | None = None,
    ) -> None:
        """Show, write and draw the results; ClickException when a turn is missing from them."""
        self.delivery.deliver(
            new_console(),
            self.benchmark,
            [results_sheet(title, results), *more_sheets],
            {
                "cpus_used": self.cpus,
                "turns": self.repeat,
                **results_values(results),
                **(more_values or {}),
            },
            distributions(SYSTEMS[name] for name in results.systems),
        )
        if self.plot_file:
            draw(self.plot_file)
        if results.problems:
            turns = self.repeat * len(results.systems)
            raise click.ClickException(
                f"{len(results.problems)} of {turns} turns went wrong, as was told above"
            )


def comparison_options(
    benchmark: str, *, repeat: int, peers: Mapping[str, System] = PEERS
) -> Callable[[Run], Callable[..., None]]:
    """Gives a command a `Comparison`, made of the options that all comparisons have."""
    known = peers

    def decorate(run: Run) -> Callable[..., None]:
        @wraps(run)
        def command(
            repeat: int,
            cpus: int,
            peers: tuple[str, ...],
            limit: float,
            json_file: Path | None,
            markdown: bool,
            plot_file: Path | None,
            **own: Any,
        ) -> None:
            if plot_file:
                require_matplotlib()
            delivery = Delivery(json_file, markdown)
            run(Comparison(benchmark, repeat, cpus, peers, limit, delivery, plot_file), **own)

        for option in (
            click.option(
                "--plot", "plot_file", type=WRITABLE, help="Draw a plot: .svg, .png or .pdf."
            ),
            delivery_options,
            click.option(
                "--limit",
                type=click.FloatRange(min=1),
                default=900,
                show_default=True,
                metavar="SECONDS",
                help="A system that shows no new figure for so long is ended and reported.",
            ),
            click.option(
                "--cpus", type=click.IntRange(min=1), default=2, show_default=True, help="Workers."
            ),
            names_option("--peers", known, explained="Whom to compare with; empty for nobody."),
            repeat_option(repeat),
        ):
            command = option(command)
        return command

    return decorate
