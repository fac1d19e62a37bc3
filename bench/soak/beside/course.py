"""All rounds on all systems, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import click

from bench.machine import describe_machine
from bench.machines import machines
from bench.soak.beside.plan import LINK, ROUNDS
from bench.soak.beside.rays import ray
from bench.soak.beside.rounds import played
from bench.soak.beside.systems import NODES, System, dask, rain
from bench.soak.beside.table import Outcome, details, table
from bench.soak.cluster import Places, free_port
from bench.soak.cuts import Network
from rain.daemon.template import reap_orphans

SYSTEMS: dict[str, Callable[[Path, int, Places], System]] = {"rain": rain, "dask": dask, "ray": ray}
PACKAGES = {"dask": "distributed", "ray": "ray"}
DISTRIBUTIONS = ("rain-tasks", "distributed", "ray")


def peers_of(text: str) -> list[str]:
    """The peers that an option names. Raises `click.BadParameter` for others."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PACKAGES:
            known = " and ".join(PACKAGES)
            raise click.BadParameter(f"{name!r} is no peer of the soak; there are {known}")
        if find_spec(PACKAGES[name]) is None:
            raise click.BadParameter(f"{name} is not installed: pip install -e '.[bench]'")
    return names


def rounds_of(text: str) -> list[str]:
    """The rounds that an option names, or all. Raises `click.BadParameter` for others."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ROUNDS:
            raise click.BadParameter(f"{name!r} is no round; there are {', '.join(ROUNDS)}")
    return names or list(ROUNDS)


def course(
    peers: Sequence[str], faults: Sequence[str], seed: int, seconds: float, limit: float
) -> list[Outcome]:
    """Plays the rounds, and shows each as soon as it has ended."""
    reap_orphans(True)
    folder = Path(mkdtemp(prefix="soak-"))  # short: Ray has sockets below it
    click.echo(f"logs, journals and output: {folder}", err=True)
    outcomes: list[Outcome] = []
    for fault in faults:
        for name in ("rain", *peers):
            outcome = Outcome(fault, name)
            place = folder / str(len(outcomes))
            try:
                with places_of(fault) as (places, network):

                    def new_system(
                        place: Path,
                        name: str = name,
                        places: Places = places,
                        network: Network | None = network,
                    ) -> System:
                        system = SYSTEMS[name](place, free_port(), places)
                        system.network = network
                        return system

                    played(new_system, outcome, place, seed, seconds, limit)
            except NoNetworks as error:
                click.echo(f"no link is cut: this user may not make networks ({error})")
                break
            outcomes.append(outcome)
            click.echo(f"{outcome}, load {os.getloadavg()[0]:.0f}", err=True)
    return outcomes


class NoNetworks(Exception):
    """This user may not make them."""


@contextmanager
def places_of(fault: str) -> Generator[tuple[Places, Network | None]]:
    """All on this machine, or the server with its clients and each node on one of their own."""
    with ExitStack() as stack:
        if ROUNDS[fault] != (LINK,):
            yield Places.here(NODES), None
            return
        try:
            _, (server, *nodes) = stack.enter_context(machines(1 + NODES))
        except OSError as error:
            raise NoNetworks(error.strerror) from None
        yield Places(server, server, nodes), Network(server, server, nodes)


def show(outcomes: Sequence[Outcome]) -> None:
    """The table, what was wrong, and where it was measured."""
    click.echo(table(outcomes))
    for line in details(outcomes):
        click.echo(line)
    for name, value in describe_machine(DISTRIBUTIONS).items():
        click.echo(f"{name}: {value}")
