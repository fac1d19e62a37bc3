"""`python -m bench server`: the server's cost per task, without running tasks.

A zero governor answers "finished" at once and reports inputs as present, so that only the server
and the client work. The tasks are built-in ones without data: nothing is pickled.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import click
from attrs import frozen
from rich.console import Console

from bench.options import Delivery, delivery_options, new_console, numbers_option, repeat_option
from bench.processes import Daemon, quiet_cpu_seconds, zero_cluster
from bench.runners import OURS
from bench.shapes import Shape, deepest_tree, merge, tree
from bench.sheet import Sheet
from bench.summary import Summary, summarize
from rain.client import Client, Task, tasks

# Small shapes are repeated, because a single one is too short to measure.
TASKS_AT_LEAST = 20_000


@frozen
class Sample:
    """One shape at one size."""

    shape: Shape
    seconds: tuple[float, ...]  # from submit to all finished, one for each round
    server_cpu_seconds: float  # over all rounds, including background work

    @property
    def tasks_per_second(self) -> Summary:
        return summarize([self.shape.task_count / seconds for seconds in self.seconds])

    @property
    def microseconds_per_task(self) -> float:
        return self.server_cpu_seconds / (self.shape.task_count * len(self.seconds)) * 1e6


def rounds_for(tasks: int, repeat: int) -> int:
    """How often a shape runs: `repeat` times, and often enough to be measurable."""
    return max(repeat, -(-TASKS_AT_LEAST // tasks))


def shapes_of(sizes: Sequence[int]) -> list[Shape]:
    return [shape for size in sizes for shape in (merge(size), tree(deepest_tree(size)))]


def build(shape: Shape) -> None:
    """Describes the shape's tasks to the active session."""
    built: list[Task] = []
    for layer in shape.layers:
        for call in layer.calls:
            built.append(tasks.Concat([built[i] for i in call.needs]))


def run(shape: Shape, client: Client, rounds: int) -> list[float]:
    """Runs the shape `rounds` times, each in a new session; returns the seconds of each."""
    seconds: list[float] = []
    for _ in range(rounds):
        with client.new_session("bench") as session:
            build(shape)
            start = perf_counter()
            session.submit()
            session.wait_all()
            seconds.append(perf_counter() - start)
    return seconds


def measure(shape: Shape, client: Client, server: Daemon, rounds: int) -> Sample:
    """Measures the shape. Sessions end in the background, so the server is measured until it is
    quiet."""
    (before,) = quiet_cpu_seconds([server])
    seconds = run(shape, client, rounds)
    (after,) = quiet_cpu_seconds([server])
    return Sample(shape, tuple(seconds), after - before)


def measure_all(
    sizes: Sequence[int], governors: int, repeat: int, console: Console, *, event_log: bool
) -> list[Sample]:
    with (
        zero_cluster(governors, event_log=event_log) as cluster,
        Client("127.0.0.1", cluster.port) as client,
    ):
        measure(merge(100), client, cluster.server, rounds_for(101, 1))  # warm-up
        samples: list[Sample] = []
        for shape in shapes_of(sizes):
            with console.status(f"{shape.name} of {shape.task_count:,} tasks"):
                rounds = rounds_for(shape.task_count, repeat)
                samples.append(measure(shape, client, cluster.server, rounds))
        return samples


def server_sheet(samples: Sequence[Sample], governors: int) -> Sheet:
    return Sheet(
        title=f"The server alone, {governors} zero governor{'s' if governors > 1 else ''}",
        columns=("shape", "tasks", "rounds", "tasks/s", "server CPU a task"),
        rows=tuple(
            (
                sample.shape.name,
                f"{sample.shape.task_count:,}",
                str(len(sample.seconds)),
                f"{sample.tasks_per_second.median:,.0f} ±{sample.tasks_per_second.spread / 2:.0%}",
                f"{sample.microseconds_per_task:.1f} µs",
            )
            for sample in samples
        ),
        caption="tasks/s: median and half of the range. CPU: the server's, closing included.",
    )


def server_values(samples: Sequence[Sample]) -> list[dict[str, object]]:
    """All values of the table, for `--json`."""
    return [
        {
            "shape": sample.shape.name,
            "tasks": sample.shape.task_count,
            "seconds": list(sample.seconds),
            "server_cpu_seconds": sample.server_cpu_seconds,
            "tasks_per_second": sample.tasks_per_second.median,
            "server_cpu_microseconds_per_task": sample.microseconds_per_task,
        }
        for sample in samples
    ]


@click.command(name="server")
@numbers_option("--tasks", "sizes", default="1000,10000,100000", explained="How many tasks.")
@repeat_option(3)
@click.option("--governors", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--event-log", is_flag=True, help="Let the server keep its event log meanwhile.")
@delivery_options
def command(
    sizes: tuple[int, ...],
    repeat: int,
    governors: int,
    event_log: bool,
    json_file: Path | None,
    markdown: bool,
) -> None:
    """Measure the server alone: its governors answer "finished" at once."""
    console = new_console()
    samples = measure_all(sizes, governors, repeat, console, event_log=event_log)
    Delivery(json_file, markdown).deliver(
        console,
        "server",
        [server_sheet(samples, governors)],
        {"governors": governors, "event_log": event_log, "samples": server_values(samples)},
        [OURS.distribution, "pycapnp", "trio"],
    )
