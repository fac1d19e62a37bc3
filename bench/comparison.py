"""Shared code of the benchmarks that compare Rain with its peers: options, runs, results.

The command of a comparison gets a `Comparison` instead of the common options. Its module has the
function `measure`, which runs in a separate process for every system.
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
"""A command that takes a `Comparison` and its own options by name."""


@frozen
class Comparison:
    """Which systems to measure, how often, and where the results go."""

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
        graphs: bool = False,  # only systems with dependencies between tasks
        limits: Sequence[System] = (),  # measured in addition to the peers
    ) -> Results:
        """Run `measure` of the benchmark's module on all systems, in turns."""
        # Progress goes to stderr, separate from the tables.
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
        """Show, write and draw the results; ClickException if a turn has failed."""
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
                f"{len(results.problems)} of {turns} turns failed, see above"
            )


def comparison_options(
    benchmark: str, *, repeat: int, peers: Mapping[str, System] = PEERS
) -> Callable[[Run], Callable[..., None]]:
    """Adds the common options to a command, which gets them as a `Comparison`."""
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
                help="End and report a system that shows no new figure for this long.",
            ),
            click.option(
                "--cpus", type=click.IntRange(min=1), default=2, show_default=True, help="Workers."
            ),
            names_option("--peers", known, explained="Peers to compare with; may be empty."),
            repeat_option(repeat),
        ):
            command = option(command)
        return command

    return decorate
