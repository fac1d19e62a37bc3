"""`python -m bench standby`: the pause when a standby takes over in the middle of work."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from bench.processes import HOST, rain_daemon
from rain.client import Client

SHORT_TASK_SECONDS = 0.002
KILLED_AFTER = 0.4
"""The share of all tasks that are done when the server is killed."""


def work(number: int) -> int:
    """A short task."""
    time.sleep(SHORT_TASK_SECONDS)
    return number


@click.command()
@click.option("--tasks", default=2000, show_default=True, type=click.IntRange(min=10))
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--lease-seconds", default=5.0, show_default=True, type=click.FloatRange(min=1.0))
@click.option("--stop", is_flag=True, help="Stop the server (SIGSTOP), do not kill it.")
def command(tasks: int, rounds: int, lease_seconds: float, stop: bool) -> None:
    """Kill the server that leads, and measure until the next task is answered.

    Two governors with one cpu each and a client know a server and its standby. The pause is the
    longest time without an answer from the kill on.
    """
    fault = signal.SIGSTOP if stop else signal.SIGKILL
    pauses = [one_round(tasks, lease_seconds, fault) for _ in range(rounds)]
    for pause in pauses:
        click.echo(f"{pause:8.2f} s")
    click.echo(f"{median(pauses):8.2f} s is the median")


def one_round(tasks: int, lease_seconds: float, fault: signal.Signals) -> float:
    """The pause in seconds; all results are checked."""
    answered: list[float] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        own = ["server", "--listen", f"{HOST}:0", "--no-http", "--journal", str(folder / "journal")]
        own += ["--lease-seconds", str(lease_seconds)]
        first, address = stack.enter_context(rain_daemon("first", *own, folder=folder))
        _, other = stack.enter_context(rain_daemon("standby", *own, "--standby", folder=folder))
        both = f"{address},{other}"
        for name in ("one", "two"):
            words = ("governor", both, "--cpus", "1", "--workdir", str(folder / f"{name}.work"))
            stack.enter_context(rain_daemon(name, *words, folder=folder))
        client = stack.enter_context(Client(both))
        futures = client.map(work, range(tasks))
        for future in futures:
            future.add_done_callback(lambda _: answered.append(time.monotonic()))
        futures[int(tasks * KILLED_AFTER)].result()
        first.process.send_signal(fault)
        killed = time.monotonic()
        results = client.gather(futures)
        first.process.kill()
        if results != list(range(tasks)):
            raise click.ClickException("a result is wrong")
    since = [killed, *sorted(moment for moment in answered if moment > killed)]
    return max((later - earlier for earlier, later in pairwise(since)), default=0.0)
