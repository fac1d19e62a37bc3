"""What a task costs the server: so many at a time, on so many governors, compared round by round.

A machine may be twice as fast in one second as in the next. So nothing is compared that was not
measured close together: each round measures one size after the other, in short turns, and in such a
turn all numbers of governors take turns themselves, ten times in a second. The round says how much
more the one took than the other; every second one goes the other way round, so that a machine that
gets slower tells nothing against those who come last. What counts is the median of these ratios
over all rounds. The times themselves are those of the moment.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from time import perf_counter

from attrs import Factory, frozen
from rich.console import Console

from bench.processes import HOST, Daemon, idle_shares, quiet_cpu_seconds, zero_cluster
from bench.server_alone import Sample, run
from bench.shapes import Shape, merge
from bench.sheet import Sheet
from bench.summary import middle_of
from rain.client import Client

TURN_TASKS = 20_000
"""So many tasks at least on each cluster in one turn: less would measure single moments."""

PIECE_TASKS = 4_000
"""So many of them, or one session, on one cluster before it is another one's turn: some 50 ms."""


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


@frozen
class Place:
    """A cluster with so many governors, whose server is watched."""

    governors: int
    client: Client
    server: Daemon
    idle_share: float  # of a cpu that the server uses when nothing is asked of it


def costs_of(
    sizes: Sequence[int], governors: Sequence[int], repeat: int, console: Console
) -> list[Cost]:
    """Merges of all sizes on all clusters, in rounds."""
    with ExitStack() as stack:
        clusters = [stack.enter_context(zero_cluster(count)) for count in governors]
        idle = idle_shares([cluster.server for cluster in clusters])
        places = [
            Place(count, stack.enter_context(Client(HOST, found.port)), found.server, share)
            for count, found, share in zip(governors, clusters, idle, strict=True)
        ]
        _turns(merge(200), places)  # warm-up
        costs = {size: [Cost(place.governors, size + 1) for place in places] for size in sizes}
        for number in range(repeat):
            for size in reversed(sizes) if number % 2 else sizes:
                with console.status(f"{size + 1:,} tasks, round {number + 1}"):
                    turns = _turns(merge(size), places)
                for cost, turn in zip(costs[size], turns, strict=True):
                    cost.turns.append(turn)
        return [cost for of_size in costs.values() for cost in of_size]


def _turns(shape: Shape, places: Sequence[Place]) -> list[Sample]:
    """The shape on all of these, by turns; every second time the other way round.

    Sessions end behind the client's back, so the servers are watched until all are quiet. What idle
    governors cost while others have their turn is not counted.
    """
    servers = [place.server for place in places]
    before, begun = quiet_cpu_seconds(servers), perf_counter()
    seconds: list[list[float]] = [[] for _ in places]
    own = [0.0 for _ in places]
    for number, sessions in enumerate(pieces_of(shape.task_count)):
        order = range(len(places))
        for which in reversed(order) if number % 2 else order:
            start = perf_counter()
            seconds[which] += run(shape, places[which].client, sessions)
            own[which] += perf_counter() - start
    after = quiet_cpu_seconds(servers)
    elapsed = perf_counter() - begun
    return [
        Sample(
            shape, tuple(seconds[i]), after[i] - before[i] - place.idle_share * (elapsed - own[i])
        )
        for i, place in enumerate(places)
    ]


def pieces_of(tasks: int) -> list[int]:
    """How many sessions of so many tasks follow each other in each piece of a turn."""
    sessions, most = -(-TURN_TASKS // tasks), max(PIECE_TASKS // tasks, 1)
    return [min(most, sessions - start) for start in range(0, sessions, most)]


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
    return middle_of([ratio - 1 for ratio in ratios(cost, other)])


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
        caption="Zero governors; CPU of the server's process, the end of the session included, the"
        " signs of life of idle governors not."
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
