"""What a task costs the server: so many at a time, on so many governors, all in turns.

A machine may be much faster in one second than in the next. So every size on every number of
governors is measured again and again, one after the other, and the least that each of them took is
what is compared: what the work takes when nothing disturbs it.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from attrs import Factory, frozen
from rich.console import Console

from bench.processes import HOST, Daemon, zero_cluster
from bench.server_alone import Sample, measure
from bench.shapes import merge
from bench.sheet import Sheet
from rain.client import Client

MILLION = 1_000_000


@frozen
class Cost:
    """What one size costs on one number of governors."""

    governors: int
    tasks: int
    turns: list[Sample] = Factory(list)

    @property
    def tasks_per_second(self) -> float:
        return median(turn.tasks_per_second.median for turn in self.turns)

    @property
    def microseconds(self) -> list[float]:
        """Of the server's CPU time for a task, one figure for each turn."""
        return [turn.microseconds_per_task for turn in self.turns]

    @property
    def least(self) -> float:
        return min(self.microseconds)


def costs_of(
    sizes: Sequence[int], governors: Sequence[int], repeat: int, console: Console
) -> list[Cost]:
    """Merges of all sizes on all clusters, in turns; a million of them on the first cluster only.

    It would say the same of the others.
    """
    with ExitStack() as stack:
        places: list[tuple[Cost, Client, Daemon]] = []
        for number, count in enumerate(governors):
            cluster = stack.enter_context(zero_cluster(count))
            client = stack.enter_context(Client(HOST, cluster.port))
            measure(merge(200), client, cluster.server, repeat=1)  # warm-up
            places += [
                (Cost(count, size + 1), client, cluster.server)
                for size in sizes
                if number == 0 or size < MILLION
            ]
        for turn in range(repeat):
            for cost, client, server in places:
                told = f"{cost.tasks:,} tasks, {cost.governors} governors, turn {turn + 1}"
                with console.status(told):
                    sample = measure(merge(cost.tasks - 1), client, server, repeat=1)
                cost.turns.append(sample)
        return [cost for cost, _, _ in places]


def costs_sheet(costs: Sequence[Cost]) -> Sheet:
    cheapest = min(cost.least for cost in costs)
    return Sheet(
        title="What a task costs the server",
        columns=("governors", "tasks", "tasks/s", "CPU a task, median", "least", "to the cheapest"),
        rows=tuple(
            (
                f"{cost.governors:,}",
                f"{cost.tasks:,}",
                f"{cost.tasks_per_second:,.0f}",
                f"{median(cost.microseconds):.1f} µs",
                f"{cost.least:.1f} µs",
                f"{cost.least / cheapest - 1:+.0%}",
            )
            for cost in costs
        ),
        caption="Zero governors; CPU of the server's process, the end of the session included;"
        " median and least of all turns. The least ones are compared.",
        words=0,
    )


def curves(costs: Sequence[Cost]) -> dict[str, list[tuple[float, float]]]:
    """Microseconds by the number of tasks, a line for each number of governors."""
    found: dict[str, list[tuple[float, float]]] = {}
    for cost in costs:
        name = f"{cost.governors} governor{'s' if cost.governors > 1 else ''}"
        found.setdefault(name, []).append((float(cost.tasks), cost.least))
    return found
