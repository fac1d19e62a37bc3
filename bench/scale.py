"""`python -m bench scale`: whether the cost per task stays the same with many tasks.

Zero governors answer "finished" at once, so that only the server is measured: its CPU time per
task, from a thousand tasks to a million and from one governor to a hundred; its memory; and how
long another client waits for reports of all governors while many tasks are submitted at once.
"""

import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from bench.costs import (
    Cost,
    costs_of,
    costs_sheet,
    curves,
    fewest_governors,
    fewest_tasks,
    ratios,
)
from bench.million import MILLION, Round, million_beside_few, million_sheet, million_values
from bench.options import (
    WRITABLE,
    Delivery,
    delivery_options,
    new_console,
    numbers_option,
    repeat_option,
)
from bench.plot import draw_lines, require_matplotlib
from bench.processes import HOST, Daemon, zero_cluster
from bench.runners import OURS
from bench.server_alone import build, measure, rounds_for
from bench.shapes import merge
from bench.sheet import Sheet
from rain.client import Client

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Event

SETTLING_TASKS = 50
PAUSE_SECONDS = 0.01  # of the second client between requests


@frozen
class Memory:
    """The resident memory of the server."""

    tasks: int
    before: int
    open: int  # after all tasks have finished, with the session open
    closed: int

    @property
    def bytes_per_task(self) -> float:
        return (self.open - self.before) / self.tasks


@frozen
class Interruption:
    """The waiting times of another client while many tasks were submitted."""

    tasks: int
    submit_seconds: float  # until all had finished
    waits: tuple[float, ...]
    fewest_governors: int  # the fewest governors with a report


def memory_of(tasks: int) -> Memory:
    """Measures a fresh server, which has had no larger session before."""
    with zero_cluster(1) as cluster, Client(HOST, cluster.port) as client:
        measure(merge(200), client, cluster.server, rounds_for(201, 1))
        before = _settled(cluster.server, client)
        with client.new_session("memory") as session:
            build(merge(tasks))
            session.submit()
            session.wait_all()
            during = cluster.server.resident_bytes()
        return Memory(tasks, before, during, _settled(cluster.server, client))


def _settled(server: Daemon, client: Client) -> int:
    """The memory when further tasks do not reduce it, because ended sessions are freed in parts.

    Planning these tasks also makes the scheduler forget ended sessions.
    """
    least, tasks = server.resident_bytes(), 0
    while tasks < SETTLING_TASKS:
        with client.new_session("settled") as session:
            build(merge(1))
            session.submit()
            session.wait_all()
        tasks += 1
        now = server.resident_bytes()
        if now < least:
            least, tasks = now, 0
    return least


def ask_beside(port: int, stop: "Event", results: "Connection[Any, Any]") -> None:
    """The second client, which requests the reports of all governors repeatedly."""
    waits: list[float] = []
    fewest: list[int] = []
    with Client(HOST, port) as client:
        client.get_server_info()
        results.send("ready")
        while not stop.is_set():
            start = time.perf_counter()
            fewest.append(len(client.get_server_info()["governors"]))
            waits.append(time.perf_counter() - start)
            time.sleep(PAUSE_SECONDS)
    results.send((waits, min(fewest)))


def interruption(tasks: int, governors: int) -> Interruption:
    """Submits many tasks at once while a second client sends requests."""
    context = multiprocessing.get_context("spawn")
    with zero_cluster(governors) as cluster, Client(HOST, cluster.port) as client:
        ours, theirs = context.Pipe()
        stop = context.Event()
        other = context.Process(target=ask_beside, args=(cluster.port, stop, theirs), daemon=True)
        other.start()
        theirs.close()
        ours.recv()
        with client.new_session("many") as session:
            build(merge(tasks))
            start = time.perf_counter()
            session.submit()
            session.wait_all()
            seconds = time.perf_counter() - start
        stop.set()
        waits, fewest = ours.recv()
        other.join()
        return Interruption(tasks, seconds, tuple(waits), fewest)


def memory_sheet(memories: Sequence[Memory]) -> Sheet:
    return Sheet(
        title="The server's memory",
        columns=("tasks", "before", "session open", "a task", "session closed"),
        rows=tuple(
            (
                f"{memory.tasks:,}",
                f"{memory.before / 2**20:.1f} MiB",
                f"{memory.open / 2**20:.1f} MiB",
                f"{memory.bytes_per_task:,.0f} B",
                f"{memory.closed / 2**20:.1f} MiB",
            )
            for memory in memories
        ),
        caption="Resident memory of a fresh server, including the buffers of the submission.",
        words=0,
    )


def interruption_sheet(one: Interruption) -> Sheet:
    return Sheet(
        title="Another client, while many tasks are submitted at once",
        columns=("tasks", "done after", "answers", "median wait", "longest wait", "governors"),
        rows=(
            (
                f"{one.tasks:,}",
                f"{one.submit_seconds:.2f} s",
                str(len(one.waits)),
                f"{median(one.waits) * 1000:.1f} ms",
                f"{max(one.waits) * 1000:.0f} ms",
                str(one.fewest_governors),
            ),
        ),
        caption="Each answer has a live report of every governor; governors: the fewest that"
        " answered.",
        words=0,
    )


@click.command(name="scale")
@numbers_option(
    "--tasks", "sizes", default="1000,10000,100000", explained="How many tasks at a time."
)
@numbers_option("--governors", default="1,10,100", explained="How many zero governors.")
@click.option("--million", is_flag=True, help="A million tasks too: some GiB and minutes.")
@repeat_option(9)
@delivery_options
@click.option("--plot", "plot_file", type=WRITABLE, help="Draw a plot: .svg, .png or .pdf.")
def command(
    sizes: tuple[int, ...],
    governors: tuple[int, ...],
    million: bool,
    repeat: int,
    json_file: Path | None,
    markdown: bool,
    plot_file: Path | None,
) -> None:
    """Measure whether the server's cost per task stays the same with many tasks."""
    if plot_file:
        require_matplotlib()
    console = new_console()
    largest = (*sizes, MILLION) if million else sizes
    costs = costs_of(sizes, governors, repeat, console)
    rounds = million_beside_few(repeat, console) if million else []
    memories: list[Memory] = []
    for size in largest:
        with console.status(f"memory of {size:,} tasks"):
            memories.append(memory_of(size))
    with console.status("another client beside"):
        beside = interruption(max(sizes), max(1, min(governors)))
    Delivery(json_file, markdown).deliver(
        console,
        "scale",
        [
            costs_sheet(costs),
            *([million_sheet(rounds)] if rounds else []),
            memory_sheet(memories),
            interruption_sheet(beside),
        ],
        scale_values(costs, rounds, memories, beside),
        [OURS.distribution, "pycapnp", "trio"],
    )
    if plot_file:
        draw_lines(
            curves(costs),
            file=plot_file,
            across="tasks at a time",
            upwards="server CPU a task, µs",
        )


def scale_values(
    costs: Sequence[Cost],
    rounds: Sequence[Round],
    memories: Sequence[Memory],
    beside: Interruption,
) -> dict[str, object]:
    """All values of the tables, for `--json`."""
    return {
        "costs": [
            {
                "governors": cost.governors,
                "tasks": cost.tasks,
                "seconds": [list(turn.seconds) for turn in cost.turns],
                "server_cpu_microseconds_per_task": cost.microseconds,
                "to_fewest_governors": ratios(cost, fewest_governors(cost, costs)),
                "to_fewest_tasks": ratios(cost, fewest_tasks(cost, costs)),
            }
            for cost in costs
        ],
        "million": million_values(rounds),
        "memory": [
            {
                "tasks": memory.tasks,
                "before": memory.before,
                "open": memory.open,
                "closed": memory.closed,
                "bytes_per_task": memory.bytes_per_task,
            }
            for memory in memories
        ],
        "beside": {
            "tasks": beside.tasks,
            "seconds": beside.submit_seconds,
            "waits": list(beside.waits),
            "governors": beside.fewest_governors,
        },
    }
