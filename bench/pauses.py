"""`python -m bench pauses`: how long work stands still after each fault, as a client sees it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

import click
from attrs import frozen

from bench.machine import describe_machine
from bench.machines import DROPPED, HERE, RESET, machines
from bench.soak.cluster import SECRET, Cluster, Member, Places, descendants, free_port, new_cluster
from rain.client import Client, Future

GOVERNORS = 2
CHAINS = 4
"""As many as the governors have cpus."""

STEPS = 200
STEP_SECONDS = 0.01
HIT_AFTER = STEPS // 4

CUT_SECONDS = 2.0
RESET_SECONDS = 0.2
"""Long enough for a connection that is at work to be reset."""

START_SECONDS = 60.0
GLANCE_SECONDS = 0.05


def step(before: object, number: int) -> tuple[int, int]:
    """A link of a chain; its number, and the process that it ran in."""
    del before
    time.sleep(STEP_SECONDS)
    return number, os.getpid()


@frozen
class Site:
    """A cluster at work, and a client of it in this process."""

    cluster: Cluster
    client: Client
    address: str  # of this process, as the server sees it

    def governor_of(self, executor: int) -> Member:
        """The governor that has started a process."""
        for member in self.cluster.governors:
            if member.is_there() and executor in descendants(member.pid):
                return member
        raise click.ClickException("the process that ran the last step has ended")

    def make_whole(self) -> None:
        """Starts the governors that were killed, and waits until the server has all of them."""
        for member in self.cluster.governors:
            if not member.is_there():
                member.live()
        _wait(self.has_all)

    def has_all(self) -> bool:
        return len(self.client.get_server_info()["governors"]) == GOVERNORS


Fault = Callable[[Site, int], None]
"""Hits a cluster; it is told the process that has just run a step."""


def nothing(_site: Site, _executor: int) -> None:
    """For comparison."""


def executor_killed(_site: Site, executor: int) -> None:
    os.kill(executor, signal.SIGKILL)


def governor_killed(site: Site, executor: int) -> None:
    _kill(site.governor_of(executor))


def server_killed(site: Site, _executor: int) -> None:
    """It is started again at once, from its journal."""
    _kill(site.cluster.server)
    site.cluster.server.live()


def governor_cut(site: Site, executor: int) -> None:
    """All packets between a governor and the server are lost for some time."""
    _part(site, site.governor_of(executor).machine.address, DROPPED, CUT_SECONDS)


def governor_reset(site: Site, executor: int) -> None:
    """The connection of a governor is reset."""
    _part(site, site.governor_of(executor).machine.address, RESET, RESET_SECONDS)


def client_cut(site: Site, _executor: int) -> None:
    """All packets between the client and the server are lost for some time."""
    _part(site, site.address, DROPPED, CUT_SECONDS)


def client_reset(site: Site, _executor: int) -> None:
    """The connection of the client is reset."""
    _part(site, site.address, RESET, RESET_SECONDS)


PROCESSES: dict[str, Fault] = {
    "none": nothing,
    "an executor is killed": executor_killed,
    "a governor is killed": governor_killed,
    "the server is killed and started again": server_killed,
}
LINKS: dict[str, Fault] = {
    f"a governor is cut from the server for {CUT_SECONDS:g} s": governor_cut,
    "the connection of a governor is reset": governor_reset,
    f"the client is cut from the server for {CUT_SECONDS:g} s": client_cut,
    "the connection of the client is reset": client_reset,
}
"""These need network namespaces, and so root."""


@click.command()
@click.option("--rounds", default=10, show_default=True, type=click.IntRange(min=1))
def command(rounds: int) -> None:
    """Hit a cluster at work, and measure for how long work stands still.

    A client has four chains of short calls on two governors. The pause is the longest time from
    one step of a chain to the next one, as the client hears of them, after the fault.
    """
    click.echo("| fault | rounds | shortest | median | longest |\n|---|---:|---:|---:|---:|")
    for name, fault in possible_faults().items():
        with cluster(apart=name in LINKS) as site:  # a new one, whose journal is short
            one_round(site, nothing)  # executors start
            pauses = sorted(one_round(site, fault) for _ in range(rounds))
        numbers = (pauses[0], median(pauses), pauses[-1])
        told = " | ".join(f"{seconds:.2f} s" for seconds in numbers)
        click.echo(f"| {name} | {rounds} | {told} |")
    for name, value in describe_machine(("rain-tasks",)).items():
        click.echo(f"{name}: {value}")


def one_round(site: Site, fault: Fault) -> float:
    """The pause in seconds; all results are checked."""
    site.make_whole()
    answered: list[list[float]] = [[] for _ in range(CHAINS)]
    chains: list[list[Future[tuple[int, int]]]] = []
    for times in answered:
        chain = [site.client.submit(step, None, 0)]
        for number in range(1, STEPS):
            chain.append(site.client.submit(step, chain[-1], number))
        note = partial(_note, times)
        for future in chain:
            future.add_done_callback(note)
        chains.append(chain)
    _, executor = chains[0][HIT_AFTER].result()
    hit = time.monotonic()
    fault(site, executor)
    for chain in chains:
        if [number for number, _ in site.client.gather(chain)] != list(range(STEPS)):
            raise click.ClickException("a result is wrong")
    return max(longest_gap(times, hit) for times in answered)


def _note(times: list[float], _future: object) -> None:
    times.append(time.monotonic())


def longest_gap(times: list[float], hit: float) -> float:
    """The longest time without an answer that ended after the hit."""
    return max((b - max(a, hit) for a, b in pairwise(sorted(times)) if b > hit), default=0.0)


def possible_faults() -> dict[str, Fault]:
    """Those that this user may make."""
    try:
        with machines(1):
            return PROCESSES | LINKS
    except OSError as error:
        click.echo(f"no link is cut: this user may not make networks ({error.strerror})", err=True)
        return PROCESSES


@contextmanager
def cluster(*, apart: bool) -> Generator[Site, None, None]:
    """A cluster, on this machine or on machines of its own."""
    if not apart:
        with _started(Places.here(GOVERNORS), HERE.address) as site:
            yield site
        return
    with (
        machines(1 + GOVERNORS) as (address, made),
        _started(Places(made[0], HERE, made[1:]), address) as site,
    ):
        yield site


@contextmanager
def _started(places: Places, address: str) -> Generator[Site, None, None]:
    with TemporaryDirectory(prefix="rain-pauses-") as name:
        folder = Path(name)
        made = new_cluster(folder, free_port(), Random(0), places, clients=0)
        for member in made.members():
            member.checked = False
        try:
            made.server.live()
            _wait(made.server.is_ready)
            where = f"{places.server.address}:{made.port}"
            with Client(where, secret_file=folder / SECRET) as client:
                yield Site(made, client, address)
        finally:
            for member in made.members():
                if member.is_there():
                    member.send(signal.SIGTERM)
                    member.wait()


def _kill(member: Member) -> None:
    member.send(signal.SIGKILL)
    member.wait()


def _part(site: Site, address: str, how: tuple[str, ...], seconds: float) -> None:
    """Cuts the server from a machine for some seconds."""
    server = site.cluster.server.machine
    server.loses_what_comes_from(address, how)
    server.loses_what_goes_to(address, how)
    time.sleep(seconds)
    server.hears(address, how)
    server.reaches(address, how)


def _wait(is_so: Callable[[], bool]) -> None:
    late = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > late:
            raise click.ClickException("the cluster does not start")
        time.sleep(GLANCE_SECONDS)
