"""`python -m bench feel`: times that a user notices, on a cluster of real processes.

The time until `Client()` has started its cluster and has a first result; the time until twenty
governors that start together are ready, and the CPU time of one of them; the time until a fresh
executor is ready; the time until the next task has run after the previous tasks were stopped, which
kills their executors; and the time until a closed session is gone from every governor, as seen by
another client. Modules are compiled before, as in an installed Rain.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import click
from attrs import frozen
from rich.console import Console

from bench.options import Delivery, delivery_options, new_console, repeat_option
from bench.processes import fresh_governor
from bench.runners import OURS
from bench.sheet import Sheet
from bench.summary import Summary, summarize
from rain.client import Client, Session, Task, blob, remote, tasks
from rain.client.local import LocalCluster
from rain.client.rpc.common import TaskState
from rain.governor.executors.process import Places, start_executor

GOVERNORS = 20
CPUS = 2


@frozen
class Feeling:
    """A measurement with its limit and the seconds of each round."""

    name: str
    limit: float
    seconds: tuple[float, ...]

    @property
    def summary(self) -> Summary:
        return summarize(self.seconds)

    @property
    def is_good(self) -> bool:
        """Whether every round was within the limit."""
        return self.summary.high <= self.limit


@remote()
def _busy(ctx: Any) -> bytes:
    time.sleep(600)
    return b""


@remote()
def _quick(ctx: Any) -> bytes:
    return b""


def _first_result() -> float:
    start = perf_counter()
    with Client(cpus=CPUS) as client:
        client.submit(int).result()
        return perf_counter() - start


def _start_governors() -> float:
    start = perf_counter()
    cluster = LocalCluster(cpus=1, governors=GOVERNORS)
    seconds = perf_counter() - start
    cluster.close()
    return seconds


def _start_of_one() -> float:
    with fresh_governor() as governor:
        return governor.cpu_seconds()


def _start_executor() -> float:
    """Seconds until an executor has registered; it ends when its socket is closed."""
    with TemporaryDirectory(prefix="rain-bench-") as folder:
        start = perf_counter()
        started = start_executor(1, Places(Path(folder), Path(folder), Path(folder)))
        started.socket.recv(1)
        seconds = perf_counter() - start
        started.socket.close()
        started.process.wait()
    for descriptor in (started.tokens, started.taken_tokens, started.stops, started.answers):
        os.close(descriptor)
    return seconds


def _until_running(session: Session, started: list[Task]) -> None:
    session.submit()
    while any(task.state is not TaskState.running for task in started):
        session.update(started)


def _next_task_after_a_kill(client: Client) -> float:
    """All executors are busy and get killed; the next task needs a new one."""
    killed = client.new_session("killed")
    with killed.bind_only():
        _until_running(killed, [_busy() for _ in range(CPUS)])
    with client.new_session("next") as session:
        task = _quick()
        start = perf_counter()
        killed.close()
        session.submit()
        task.wait()
        return perf_counter() - start


def _closed_everywhere(client: Client, watcher: Client) -> float:
    """Closes a session with a running task and kept data."""
    session = client.new_session("closed")
    with session.bind_only():
        kept = tasks.Concat([blob(bytes(100_000))])
        kept.output.keep()
        session.submit()
        kept.wait()
        _until_running(session, [tasks.Sleep(blob("x"), 600) for _ in range(CPUS)])
    start = perf_counter()
    session.close()
    while any(
        number.session_id == session.session_id
        for governor in watcher.get_server_info()["governors"]
        for number in [*governor["tasks"], *governor["objects"]]
    ):
        pass
    return perf_counter() - start


def measure_all(repeat: int, console: Console) -> list[Feeling]:
    def measured(name: str, limit: float, once: Callable[[], float]) -> Feeling:
        with console.status(name):
            return Feeling(name, limit, tuple(once() for _ in range(repeat)))

    _start_governors()  # compiles all modules that they import
    _start_executor()
    feelings = [
        measured("`Client()` has its first result", 2.0, _first_result),
        measured(f"{GOVERNORS} governors are ready", 4.0, _start_governors),
        measured("a governor is ready, CPU time", 0.5, _start_of_one),
        measured("a fresh executor is ready", 0.05, _start_executor),
    ]
    with (
        closing(LocalCluster(cpus=CPUS)) as cluster,
        Client(cluster.host, cluster.port, secret_file=cluster.secret_file) as client,
        Client(cluster.host, cluster.port, secret_file=cluster.secret_file) as watcher,
    ):
        feelings.append(
            measured(
                "the next task has run after a kill", 0.25, lambda: _next_task_after_a_kill(client)
            )
        )
        feelings.append(
            measured(
                "a closed session is gone everywhere",
                0.2,
                lambda: _closed_everywhere(client, watcher),
            )
        )
    return feelings


@contextmanager
def as_installed(folder: Path) -> Generator[None]:
    """Makes Python cache compiled modules, regardless of the environment, as in an installed Rain.

    In a read-only checkout a third of a start would be compiling.
    """
    before = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def feel_sheet(feelings: list[Feeling]) -> Sheet:
    return Sheet(
        title="What users feel",
        columns=("what", "median, s", "slowest, s", "limit, s", "good"),
        rows=tuple(
            (
                feeling.name,
                f"{feeling.summary.median:.3f}",
                f"{feeling.summary.high:.3f}",
                f"{feeling.limit:g}",
                "yes" if feeling.is_good else "no",
            )
            for feeling in feelings
        ),
    )


def feel_values(feelings: list[Feeling]) -> dict[str, object]:
    """All values of the table, for `--json`."""
    return {
        feeling.name: {
            "limit": feeling.limit,
            "seconds": list(feeling.seconds),
            "median": feeling.summary.median,
            "good": feeling.is_good,
        }
        for feeling in feelings
    }


@click.command(name="feel")
@repeat_option(5)
@delivery_options
def command(repeat: int, json_file: Path | None, markdown: bool) -> None:
    """Measure times that a user notices: starts, a kill, a close."""
    console = new_console()
    with TemporaryDirectory(prefix="rain-bench-") as folder, as_installed(Path(folder)):
        feelings = measure_all(repeat, console)
    Delivery(json_file, markdown).deliver(
        console,
        "feel",
        [feel_sheet(feelings)],
        {"figures": feel_values(feelings)},
        [OURS.distribution, "pycapnp", "trio"],
    )
