"""`python -m bench governors`: what each governor costs the server, up to a thousand.

Zero governors answer "finished" at once. They are in one process, with a connection each. The
server's CPU time is measured while they register, while nothing happens but heartbeats, and while
tasks run.

Real governors are processes of this machine. Some of them are killed in the middle of the work.
"""

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from attrs import asdict, frozen

from bench.options import Delivery, delivery_options, new_console, numbers_option
from bench.processes import HOST, Daemon, rain_server, started_program
from bench.runners import OURS
from bench.server_alone import run
from bench.shapes import merge
from bench.sheet import Sheet
from rain.client import Client

TASKS = 10_000
IDLE_SECONDS = 20.0
TASKS_EACH = 20
"""How many calls each real governor has to run, on average."""

CALL_SECONDS = 0.05
KILLED_SHARE = 8
"""Every eighth of the real governors is killed."""


@frozen
class Zeros:
    """What the server has needed for zero governors."""

    governors: int
    register_milliseconds: float  # of CPU, for each
    kibibytes: float  # for each
    idle_share: float  # of a cpu, for all
    microseconds: float  # of CPU, for each task
    status_milliseconds: float


@frozen
class Reals:
    """How real governors have worked."""

    governors: int
    start_seconds: float
    mebibytes: float  # of each governor, with one executor
    tasks: int
    killed: int
    seconds: float
    server_seconds: float


def measure_zeros(governors: int) -> Zeros:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        server, port = stack.enter_context(rain_server("--no-event-log", folder=folder))
        client = stack.enter_context(Client(HOST, port))
        client.get_server_info()
        used, had = server.cpu_seconds(), server.resident_bytes()
        words = ("-m", "bench.zeros", str(port), str(governors))
        patience = 30 + governors * 0.1
        stack.enter_context(started_program("governors", words, folder, patience))
        registered, has = server.cpu_seconds() - used, server.resident_bytes() - had
        used, start = server.cpu_seconds(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        idle = (server.cpu_seconds() - used) / (time.perf_counter() - start)
        shape = merge(TASKS)
        run(shape, client, 1)
        used = server.cpu_seconds()
        run(shape, client, 3)
        busy = server.cpu_seconds() - used
        start = time.perf_counter()
        if len(client.get_server_info()["governors"]) != governors:
            raise click.ClickException("a governor is missing")
        return Zeros(
            governors,
            1000 * registered / governors,
            has / 1024 / governors,
            idle,
            1e6 * busy / (3 * shape.task_count),
            1000 * (time.perf_counter() - start),
        )


def work(number: int) -> int:
    """A call."""
    time.sleep(CALL_SECONDS)
    return number * number


def measure_reals(governors: int) -> Reals:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        server, port = stack.enter_context(rain_server("--no-event-log", folder=folder))
        client = stack.enter_context(Client(HOST, port))
        start = time.perf_counter()
        daemons: list[Daemon] = []
        for number in range(governors):
            name = f"governor-{number}"
            words = ["-m", "rain", "governor", f"{HOST}:{port}", "--cpus", "1", "--memory", "256M"]
            words += ["--workdir", str(folder / f"{name}.work"), "--logdir", str(folder / name)]
            daemons.append(stack.enter_context(started_program(name, words, folder, 60))[0])
        ready = time.perf_counter() - start
        tasks = TASKS_EACH * governors
        used, start = server.cpu_seconds(), time.perf_counter()
        futures = client.map(work, range(tasks))
        futures[tasks // 3].result()
        killed = daemons[::KILLED_SHARE]
        for daemon in killed:
            daemon.process.send_signal(signal.SIGKILL)
        right = client.gather(futures) == [number * number for number in range(tasks)]
        seconds = time.perf_counter() - start
        if not right:
            raise click.ClickException("a result is wrong")
        memory = [daemon.resident_bytes() for daemon in daemons if daemon not in killed]
        return Reals(
            governors,
            ready,
            sum(memory) / len(memory) / 2**20,
            tasks,
            len(killed),
            seconds,
            server.cpu_seconds() - used,
        )


def zeros_sheet(all_of_them: Sequence[Zeros]) -> Sheet:
    return Sheet(
        title="What zero governors cost the server",
        columns=(
            "governors",
            "CPU to register one",
            "memory of one",
            "idle, all",
            "CPU a task",
            "status of all",
        ),
        rows=tuple(
            (
                f"{one.governors:,}",
                f"{one.register_milliseconds:.2f} ms",
                f"{one.kibibytes:.0f} KiB",
                f"{one.idle_share:.1%} of a cpu",
                f"{one.microseconds:.1f} µs",
                f"{one.status_milliseconds:.0f} ms",
            )
            for one in all_of_them
        ),
        caption=f"A task: of {TASKS:,} at a time. Status: a report of every governor.",
        words=0,
    )


def reals_sheet(all_of_them: Sequence[Reals]) -> Sheet:
    return Sheet(
        title="Real governors of one machine",
        columns=(
            "governors",
            "ready after",
            "memory of one",
            "tasks",
            "killed",
            "done after",
            "server CPU",
        ),
        rows=tuple(
            (
                f"{one.governors:,}",
                f"{one.start_seconds:.1f} s",
                f"{one.mebibytes:.0f} MiB",
                f"{one.tasks:,}",
                f"{one.killed}",
                f"{one.seconds:.1f} s",
                f"{one.server_seconds:.2f} s",
            )
            for one in all_of_them
        ),
        caption=f"Calls of {CALL_SECONDS} s; all results are right.",
        words=0,
    )


@click.command(name="governors")
@numbers_option("--zero", "zeros", default="1,100,1000", explained="How many zero governors.")
@numbers_option("--real", "reals", default="8,64", explained="How many real governors.")
@delivery_options
def command(
    zeros: tuple[int, ...], reals: tuple[int, ...], json_file: Path | None, markdown: bool
) -> None:
    """Measure what governors cost the server."""
    console = new_console()
    costs: list[Zeros] = []
    for governors in zeros:
        with console.status(f"{governors:,} zero governors"):
            costs.append(measure_zeros(governors))
    works: list[Reals] = []
    for governors in reals:
        with console.status(f"{governors:,} real governors"):
            works.append(measure_reals(governors))
    Delivery(json_file, markdown).deliver(
        console,
        "governors",
        [zeros_sheet(costs), reals_sheet(works)],
        {"zero": [asdict(one) for one in costs], "real": [asdict(one) for one in works]},
        [OURS.distribution, "pycapnp", "trio"],
    )
