"""`python -m bench soak`: a cluster works while its processes are killed and its links cut."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import click

from bench.machines import MOST_MACHINES, machines
from bench.processes import resident_bytes
from bench.soak.beside import course as beside
from bench.soak.cluster import (
    END_SECONDS,
    Cluster,
    Member,
    Places,
    free_port,
    new_cluster,
    wait_until_gone,
)
from bench.soak.cuts import Network
from bench.soak.faults import WEIGHTS, Faults
from bench.soak.tally import Tally, rows
from rain.server.journal.listing import look_into

EVERY_SECONDS = (0.5, 2.0)
"""Time between two faults."""

GLANCE_SECONDS = 0.1

MEBIBYTE = 1024 * 1024

GRACE_SECONDS = 60.0
"""Longer than the server waits for clients that do not come back."""


@click.command()
@click.option("--minutes", default=1.0, show_default=True, type=click.FloatRange(min=0.01))
@click.option("--seed", default=1, show_default=True, help="Of work and faults.")
@click.option("--governors", default=2, show_default=True, type=click.IntRange(min=1))
@click.option("--clients", default=2, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--faults", default=",".join(WEIGHTS), show_default=True, metavar="NAMES", help="What is hit."
)
@click.option("--peers", default="", metavar="NAMES", help="Rain beside these: dask,ray.")
@click.option("--rounds", default="", metavar="NAMES", help="With --peers: these alone.")
@click.option("--limit", default=60.0, show_default=True, help="Of work beside peers, seconds.")
def command(
    minutes: float,
    seed: int,
    governors: int,
    clients: int,
    faults: str,
    peers: str,
    rounds: str,
    limit: float,
) -> None:
    """Kill and stop processes of a cluster at work, cut its network, and compare all results.

    Links are cut between network namespaces, which need root. With --peers each kind of fault has
    a round of its own on each system, which takes --minutes.
    """
    if peers:
        beside.show(
            beside.course(
                beside.peers_of(peers), beside.rounds_of(rounds), seed, minutes * 60, limit
            )
        )
        return
    if rounds:
        raise click.BadParameter("--rounds are those of --peers; --faults says what is hit")
    with ExitStack() as stack:
        targets = targets_of(faults)
        places, network = Places.here(governors), None
        if "network" in targets:
            try:
                _, made = stack.enter_context(machines(min(2 + governors, MOST_MACHINES)))
            except OSError as error:
                click.echo(f"no link is cut: this user may not make networks ({error.strerror})")
                targets.remove("network")
            else:
                places = Places.apart(made, governors)
                network = Network(places.server, places.clients, places.governors)
        if not targets:
            return
        sys.exit(soak(places, network, targets, minutes * 60, Random(seed), clients))


def targets_of(text: str) -> list[str]:
    """The kinds of faults that an option names. Raises `click.BadParameter` for others."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in WEIGHTS:
            raise click.BadParameter(f"{name!r} is no fault; there are {', '.join(WEIGHTS)}")
    if not names:
        raise click.BadParameter(f"--faults names nothing; there are {', '.join(WEIGHTS)}")
    return names


def soak(
    places: Places,
    network: Network | None,
    targets: list[str],
    seconds: float,
    random: Random,
    clients: int,
) -> bool:
    """Runs the whole course and tells what came of it; whether anything was wrong."""
    folder = Path(mkdtemp(prefix="rain-soak-"))
    cluster = new_cluster(folder, free_port(), random, places, clients)
    faults = Faults(cluster, random, targets, network)
    leaks: list[str] = []
    try:
        run(faults, seconds, random)
        mend(faults)
        leaks = end(cluster)
    finally:
        for member in cluster.members():
            if member.is_there():
                member.send(signal.SIGKILL)
                member.wait()
    tally = Tally()
    for member in cluster.clients:
        output = folder / f"{member.name}.out"
        tally.add(output.read_text(encoding="utf-8").splitlines())
    for name, count in rows(faults.thrown, tally):
        click.echo(f"{name:<32}{count:>8}")
    (folder / "faults.log").write_text("\n".join(faults.log), encoding="utf-8")
    wrong = [*faults.strange, *tally.bad, *leaks]
    for line in wrong:
        click.echo(line)
    click.echo(f"logs, journal and output: {folder}")
    return bool(wrong)


def run(faults: Faults, seconds: float, random: Random) -> None:
    """Throws faults for that long."""
    end = time.monotonic() + seconds
    due = time.monotonic() + EVERY_SECONDS[1]
    while (now := time.monotonic()) < end:
        faults.heal(now)
        if now >= due:
            faults.throw()
            due = now + random.uniform(*EVERY_SECONDS)
        time.sleep(GLANCE_SECONDS)


def mend(faults: Faults) -> None:
    """Goes on until all live, so that what was begun can be ended."""
    late = time.monotonic() + END_SECONDS
    while True:
        faults.heal(float("inf"))
        if all(member.is_there() for member in faults.cluster.members()):
            return
        if time.monotonic() > late:
            faults.strange.append("the cluster does not come up again")
            return
        time.sleep(GLANCE_SECONDS)


def end(cluster: Cluster) -> list[str]:
    """Lets all end in order; what is left over."""
    found = []
    (cluster.folder / "stop").touch()
    for client in filter(Member.is_there, cluster.clients):
        found += _end_of(client)
    late = time.monotonic() + GRACE_SECONDS
    while (known := _known(cluster)) and time.monotonic() < late:
        time.sleep(1.0)
    found += known
    memory = resident_bytes(cluster.server.pid) / MEBIBYTE
    click.echo(f"{'memory of the server in MiB':<32}{memory:>8.0f}")
    cluster.server.send(signal.SIGTERM)
    for member in (cluster.server, *cluster.governors):
        found += _end_of(member)
    found += [f"still runs: {words}" for words in wait_until_gone(cluster.folder).values()]
    return found


def _end_of(member: Member) -> list[str]:
    try:
        status = member.wait()
    except subprocess.TimeoutExpired:
        member.send(signal.SIGUSR1)  # a client then tells where each of its threads is
        return [f"{member.name} does not end"]
    return [f"{member.name} has ended with status {status}"] if status else []


def _known(cluster: Cluster) -> list[str]:
    """What the server knows of clients that have gone; it should know nothing.

    Executors that have run nested tasks are clients too, and stay for a while.
    """
    state = look_into(cluster.folder / "journal").recovered.state
    counts = {
        "sessions": len(state.graph.sessions),
        "tasks": len(state.graph.tasks),
        "objects": len(state.graph.objects),
        "waits": len(state.waits),
        "answers that were not settled": sum(len(c.heard) for c in state.asked.clients.values()),
    }
    return [f"the server still has {count} {name}" for name, count in counts.items() if count]
