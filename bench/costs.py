"""What a task costs the server: so many at a time, on so many governors, compared round by round.

A machine may be twice as fast in one second as in the next. So nothing is compared that was not
measured close together: each round measures every size on one number of governors after the other,
in short turns, and says how much more the one took than the other; every second round goes the
other way round, so that a machine that gets slower tells nothing against those who come last. What
counts is the median of these ratios over all rounds. The times themselves are those of the moment.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median, quantiles

from attrs import Factory, frozen
from rich.console import Console

from bench.processes import HOST, Daemon, zero_cluster
from bench.server_alone import Sample, measure, rounds_for
from bench.shapes import merge
from bench.sheet import Sheet
from rain.client import Client

MILLION = 1_000_000

TURN_TASKS = 10_000
"""So many tasks at least in one turn: less would measure single moments."""


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
    """Merges of all sizes on all clusters, in rounds; a million of them on the first cluster only.

    It would say the same of the others.
    """
    with ExitStack() as stack:
        clusters: list[tuple[int, Client, Daemon]] = []
        for count in governors:
            cluster = stack.enter_context(zero_cluster(count))
            client = stack.enter_context(Client(HOST, cluster.port))
            measure(merge(200), client, cluster.server, rounds_for(201, 1))  # warm-up
            clusters.append((count, client, cluster.server))
        places = [
            (Cost(count, size + 1), client, server)
            for size in sizes
            for count, client, server in (clusters if size < MILLION else clusters[:1])
        ]
        for number in range(repeat):
            for cost, client, server in reversed(places) if number % 2 else places:
                told = f"{cost.tasks:,} tasks, {cost.governors} governors, round {number + 1}"
                with console.status(told):
                    often = -(-TURN_TASKS // cost.tasks)
                    cost.turns.append(measure(merge(cost.tasks - 1), client, server, often))
        return [cost for cost, _, _ in places]


def ratios(cost: Cost, other: Cost) -> list[float]:
    """How many times as much a task cost as under the other conditions, in each round."""
    return [one / two for one, two in zip(cost.microseconds, other.microseconds, strict=True)]


def fewest_governors(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """The same tasks on the fewest governors."""
    same = [other for other in costs if other.tasks == cost.tasks]
    return min(same, key=lambda other: other.governors)


def fewest_tasks(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """The fewest tasks on the same governors."""
    same = [other for other in costs if other.governors == cost.governors]
    return min(same, key=lambda other: other.tasks)


def _compared(cost: Cost, other: Cost) -> str:
    """The median of the rounds, and the middle half of them."""
    if cost is other:
        return ""
    more = [ratio - 1 for ratio in ratios(cost, other)]
    if len(more) < 2:
        return f"{more[0]:+.0%}"
    low, middle, high = quantiles(more, n=4, method="inclusive")
    return f"{middle:+.0%} ({low:+.0%} to {high:+.0%})"


def costs_sheet(costs: Sequence[Cost]) -> Sheet:
    governors = min(cost.governors for cost in costs)
    tasks = min(cost.tasks for cost in costs)
    return Sheet(
        title="What a task costs the server",
        columns=(
            "governors",
            "tasks",
            "tasks/s",
            "CPU a task, median",
            "least",
            f"to {governors:,} governor{'s' if governors > 1 else ''}",
            f"to {tasks:,} tasks",
        ),
        rows=tuple(
            (
                f"{cost.governors:,}",
                f"{cost.tasks:,}",
                f"{cost.tasks_per_second:,.0f}",
                f"{median(cost.microseconds):.1f} µs",
                f"{cost.least:.1f} µs",
                _compared(cost, fewest_governors(cost, costs)),
                _compared(cost, fewest_tasks(cost, costs)),
            )
            for cost in costs
        ),
        caption="Zero governors; CPU of the server's process, the end of the session included."
        " Compared within each round: the median of the rounds, and the middle half of them.",
        words=0,
    )


def curves(costs: Sequence[Cost]) -> dict[str, list[tuple[float, float]]]:
    """Microseconds by the number of tasks, a line for each number of governors."""
    found: dict[str, list[tuple[float, float]]] = {}
    for cost in costs:
        name = f"{cost.governors} governor{'s' if cost.governors > 1 else ''}"
        found.setdefault(name, []).append((float(cost.tasks), cost.least))
    return found
