"""`python -m bench wan`: what a long link with loss costs, between the server and a governor.

The link is a user-space one between this machine and a network namespace (`slow_link.py`). The same
work runs on a governor here and on one at the other site.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from bench.processes import rain_daemon
from bench.slow_link import Site, second_site
from rain.client import Client, Future, as_completed


def work(number: int, seconds: float) -> int:
    """A task that needs no cpu, so that many of them run at a time on a small machine."""
    time.sleep(seconds)
    return number


def work_on(data: bytes, seconds: float) -> bytes:
    """One that gets data and gives data."""
    time.sleep(seconds)
    return data[::-1]


def calls(client: Client, tasks: int, seconds: float) -> None:
    """Independent calls, all at once."""
    futures = client.map(work, range(tasks), [seconds] * tasks)
    if client.gather(futures) != list(range(tasks)):
        raise click.ClickException("a result is wrong")


def data(client: Client, tasks: int, seconds: float) -> None:
    """Calls with an argument and a result of 64 KiB each."""
    _expect_data(client, tasks, seconds, client.gather)


def loop(client: Client, tasks: int, seconds: float) -> None:
    """The same calls, whose results are read one after the other."""
    _expect_data(client, tasks, seconds, lambda futures: [one.result() for one in futures])


def completed(client: Client, tasks: int, seconds: float) -> None:
    """The same calls, whose results are read as they get done."""

    def read(futures: Sequence[Future[bytes]]) -> list[bytes]:
        results = {future: future.result() for future in as_completed(futures)}
        return [results[future] for future in futures]

    _expect_data(client, tasks, seconds, read)


def _expect_data(
    client: Client,
    tasks: int,
    seconds: float,
    read: Callable[[Sequence[Future[bytes]]], Sequence[bytes]],
) -> None:
    given = [os.urandom(65_536) for _ in range(tasks)]
    futures = client.map(work_on, given, [seconds] * tasks)
    if read(futures) != [one[::-1] for one in given]:
        raise click.ClickException("a result is wrong")


def chains(client: Client, tasks: int, seconds: float) -> None:
    """Chains of ten calls each, one after the other."""
    count = tasks // 10
    futures = client.map(work, range(count), [seconds] * count)
    for _ in range(9):
        futures = client.map(work, futures, [seconds] * count)
    if client.gather(futures) != list(range(count)):
        raise click.ClickException("a result is wrong")


KINDS: dict[str, Callable[[Client, int, float], None]] = {
    "calls": calls,
    "data": data,
    "loop": loop,
    "completed": completed,
    "chains": chains,
}


@click.command()
@click.option("--delay", default=0.04, show_default=True, help="Seconds in each direction.")
@click.option("--loss", default=0.01, show_default=True, help="The share of packets that are lost.")
@click.option("--cpus", default=8, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=0.1, show_default=True, help="The duration of a task.")
@click.option("--tasks", default=400, show_default=True, type=click.IntRange(min=10))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)))
def command(
    delay: float,
    loss: float,
    cpus: int,
    seconds: float,
    tasks: int,
    rounds: int,
    kinds: Sequence[str],
) -> None:
    """Measure tasks on a governor behind a long link, as a share of the same tasks here.

    Only root can make the link.
    """
    try:
        with second_site(delay, loss) as site:
            for kind in kinds or KINDS:
                run = KINDS[kind]
                near = measure(run, site, [], cpus, tasks, seconds, rounds)
                far = measure(run, site, site.command, cpus, tasks, seconds, rounds)
                click.echo(
                    f"{kind:9} here {tasks / near:7.1f} tasks/s, there {tasks / far:7.1f} tasks/s:"
                    f" {near / far:.0%}"
                )
    except OSError as error:
        raise click.ClickException(f"there is no second site: {error.strerror}") from error


def measure(
    run: Callable[[Client, int, float], None],
    site: Site,
    on: Sequence[str],
    cpus: int,
    tasks: int,
    seconds: float,
    rounds: int,
) -> float:
    """The median of the seconds that the rounds take."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        own = ("server", "--listen", f"{site.here}:0", "--no-http", "--insecure")
        _, address = stack.enter_context(rain_daemon("server", *own, folder=folder))
        where = site.there if on else site.here
        words = ["governor", address, "--cpus", str(cpus), "--listen", f"{where}:0", "--insecure"]
        words += ["--no-share-store", "--workdir", str(folder / "work")]
        stack.enter_context(rain_daemon("governor", *words, folder=folder, on=on))
        client = stack.enter_context(Client(address, insecure=True))
        run(client, 4 * cpus, 0.01)  # executors start
        taken: list[float] = []
        for _ in range(rounds):
            begin = time.monotonic()
            run(client, tasks, seconds)
            taken.append(time.monotonic() - begin)
        return median(taken)
