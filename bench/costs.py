"""The server's cost per task, by the number of tasks and of governors, compared round by round.

A machine may be twice as fast in one second as in the next. So only measurements that were made
close together are compared: each round measures one size after the other in short turns, and within
a turn all numbers of governors alternate ten times per second. Each round gives the ratios of the
costs. Every second round runs in reverse order, so that a machine that slows down does not penalise
those measured last. The result is the median of the ratios over all rounds. The absolute times
depend on the moment.
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
"""The fewest tasks on each cluster in one turn; fewer would measure single moments."""

PIECE_TASKS = 4_000
"""Tasks, or one session, on one cluster before the next cluster's turn: about 50 ms."""


@frozen
class Cost:
    """The cost of one size on one number of governors."""

    governors: int
    tasks: int
    turns: list[Sample] = Factory(list)

    @property
    def tasks_per_second(self) -> float:
        return median(turn.tasks_per_second.median for turn in self.turns)

    @property
    def microseconds(self) -> list[float]:
        """The server's CPU time per task, one figure for each turn."""
        return [turn.microseconds_per_task for turn in self.turns]

    @property
    def least(self) -> float:
        return min(self.microseconds)


@frozen
class Place:
    """A cluster whose server is measured."""

    governors: int
    client: Client
    server: Daemon
    idle_share: float  # of a cpu that the idle server uses


def costs_of(
    sizes: Sequence[int], governors: Sequence[int], repeat: int, console: Console
) -> list[Cost]:
    """Measures merges of all sizes on all clusters, in rounds."""
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
    """Runs the shape on all clusters in turns; every second time in reverse order.

    Sessions end in the background, so the servers are measured until all are quiet. The cost of
    idle governors during the turns of others is not counted.
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
    """The number of consecutive sessions of this size in each piece of a turn."""
    sessions, most = -(-TURN_TASKS // tasks), max(PIECE_TASKS // tasks, 1)
    return [min(most, sessions - start) for start in range(0, sessions, most)]


def ratios(cost: Cost, other: Cost) -> list[float]:
    """The ratio of the costs per task of two conditions, in each round."""
    return [one / two for one, two in zip(cost.microseconds, other.microseconds, strict=True)]


def fewest_governors(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """The cost of the same tasks on the fewest governors."""
    same = [other for other in costs if other.tasks == cost.tasks]
    return min(same, key=lambda other: other.governors)


def fewest_tasks(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """The cost of the fewest tasks on the same governors."""
    same = [other for other in costs if other.governors == cost.governors]
    return min(same, key=lambda other: other.tasks)


def _compared(cost: Cost, other: Cost) -> str:
    """The median of the rounds and their interquartile range."""
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
        caption="Zero governors; CPU of the server's process, with the end of the session, without"
        " the heartbeats of idle governors."
        " Compared within each round: the median of the rounds and their interquartile range.",
        words=0,
    )


def curves(costs: Sequence[Cost]) -> dict[str, list[tuple[float, float]]]:
    """Microseconds per number of tasks, one curve for each number of governors."""
    found: dict[str, list[tuple[float, float]]] = {}
    for cost in costs:
        name = f"{cost.governors} governor{'s' if cost.governors > 1 else ''}"
        found.setdefault(name, []).append((float(cost.tasks), cost.least))
    return found
