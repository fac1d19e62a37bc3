"""`python -m bench prediction`: the error of the lab's predictions for real runs.

Every graph runs on a real cluster of this machine with `rain server --record`. The lab then reads
the recording and simulates the same run: this gives the first error. From the same recording it
also predicts the time on another cluster, where the graph then really runs: the second error. The
tasks sleep, so that more of them can run at once than this machine has cpus; the data objects are
real and are really transferred.
"""

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import click
from attrs import evolve, frozen
from rich.console import Console

from bench.options import Delivery, delivery_options, new_console
from bench.processes import recorded_cluster
from bench.runners import OURS
from bench.sheet import Sheet
from rain.base.resources import Resources
from rain.client import Client, Task, remote
from rain.lab.rebuilding import RecordedRun
from rain.lab.replaying import ask, open_run

LIMIT = 0.15
"""Errors up to this are good."""

MEGABYTE = 1_000_000
HERE = (2, 2)  # governors, and cpus of each
THERE = (3, 1)


@remote()
def nap(ctx: Any, seconds: float, size: int, *before: Any) -> bytes:
    """Sleeps and makes `size` bytes."""
    time.sleep(seconds)
    return bytes(size)


@frozen
class Graph:
    """A graph: its name, and the function that describes it to a session."""

    name: str
    describe: Callable[[], Task]  # returns the last task


def stairs() -> Task:
    """Independent tasks of very different lengths, and one that reads all of them."""
    random = Random(1)
    return nap(0.0, 1, *(nap(random.choice((0.05, 0.1, 0.3, 0.6)), 10) for _ in range(50)))


def merge_slow() -> Task:
    """Many equal tasks, and one that reads all of them."""
    return nap(0.0, 1, *(nap(0.05, 10) for _ in range(200)))


def stencil() -> Task:
    """Rows of tasks with data objects that must be transferred."""
    width = 8
    row = [nap(0.1, 2 * MEGABYTE) for _ in range(width)]
    for _ in range(7):
        row = [
            nap(0.1, 2 * MEGABYTE, row[i - 1], row[i], row[(i + 1) % width]) for i in range(width)
        ]
    return nap(0.0, 1, *row)


def tree() -> Task:
    """Pairs of larger objects are joined until one is left."""
    level = [nap(0.2, 4 * MEGABYTE) for _ in range(16)]
    while len(level) > 1:
        level = [nap(0.2, 4 * MEGABYTE, *level[i : i + 2]) for i in range(0, len(level), 2)]
    return level[0]


GRAPHS = (
    Graph("naps of many lengths", stairs),
    Graph("merge_slow", merge_slow),
    Graph("stencil", stencil),
    Graph("tree", tree),
)


@frozen
class Prediction:
    """Measured and simulated seconds."""

    graph: str
    tasks: int
    transfers: int
    measured: float
    simulated: float
    elsewhere: float  # measured on the other cluster
    predicted: float  # for the other cluster, from the first recording

    @property
    def error(self) -> float:
        return self.simulated / self.measured - 1

    @property
    def error_elsewhere(self) -> float:
        return self.predicted / self.elsewhere - 1

    @property
    def is_good(self) -> bool:
        return max(abs(self.error), abs(self.error_elsewhere)) <= LIMIT


def record(graph: Graph, cluster: tuple[int, int], file: Path) -> tuple[RecordedRun, str]:
    """Runs a graph once and reads its recording."""
    with (
        recorded_cluster(*cluster, file) as port,
        Client("127.0.0.1", port) as client,
        client.new_session(graph.name) as session,
    ):
        graph.describe().output.keep()
        session.submit()
        session.wait_all()
    return open_run(file)


def measure(graph: Graph, folder: Path) -> Prediction:
    run, scheduler = record(graph, HERE, folder / "here")
    elsewhere, _ = record(graph, THERE, folder / "there")
    count, cpus = THERE
    other = evolve(run.cluster, name="there", governors=(Resources(cpus),) * count)
    answer = ask(run, scheduler, [], [other])
    return Prediction(
        graph.name,
        len(run.workload.tasks),
        run.transfers,
        run.makespan,
        answer.same.outcome.makespan,
        elsewhere.makespan,
        answer.predicted(answer.others[0]),
    )


def measure_all(console: Console) -> list[Prediction]:
    found: list[Prediction] = []
    for graph in GRAPHS:
        with console.status(graph.name), TemporaryDirectory(prefix="rain-bench-") as folder:
            found.append(measure(graph, Path(folder)))
    return found


def prediction_sheet(found: list[Prediction]) -> Sheet:
    here, there = (f"{count}x{cpus}" for count, cpus in (HERE, THERE))
    return Sheet(
        title="The lab against real runs",
        columns=(
            "graph",
            "tasks",
            "copies",
            f"{here}, s",
            "lab, s",
            "error",
            f"{there}, s",
            "from the first, s",
            "error",
            "good",
        ),
        rows=tuple(
            (
                row.graph,
                str(row.tasks),
                str(row.transfers),
                f"{row.measured:.2f}",
                f"{row.simulated:.2f}",
                f"{row.error:+.1%}",
                f"{row.elsewhere:.2f}",
                f"{row.predicted:.2f}",
                f"{row.error_elsewhere:+.1%}",
                "yes" if row.is_good else "no",
            )
            for row in found
        ),
        caption=f"Good: both errors are within {LIMIT:.0%}.",
    )


def prediction_values(found: list[Prediction]) -> list[dict[str, object]]:
    """All values of the table, for `--json`."""
    return [
        {
            "graph": row.graph,
            "tasks": row.tasks,
            "transfers": row.transfers,
            "measured": row.measured,
            "simulated": row.simulated,
            "error": row.error,
            "measured_elsewhere": row.elsewhere,
            "predicted_elsewhere": row.predicted,
            "error_elsewhere": row.error_elsewhere,
            "good": row.is_good,
        }
        for row in found
    ]


@click.command(name="prediction")
@delivery_options
def command(json_file: Path | None, markdown: bool) -> None:
    """Compare the lab's predictions with real runs on this machine."""
    console = new_console()
    found = measure_all(console)
    Delivery(json_file, markdown).deliver(
        console,
        "prediction",
        [prediction_sheet(found)],
        {"runs": prediction_values(found)},
        [OURS.distribution],
    )
