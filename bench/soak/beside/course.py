"""All rounds on all systems, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import click

from bench.machine import describe_machine
from bench.soak.beside.plan import ROUNDS
from bench.soak.beside.rays import ray
from bench.soak.beside.rounds import played
from bench.soak.beside.systems import System, dask, rain
from bench.soak.beside.table import Outcome, details, table
from bench.soak.cluster import free_port
from rain.daemon.template import reap_orphans

SYSTEMS: dict[str, Callable[[Path, int], System]] = {"rain": rain, "dask": dask, "ray": ray}
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


def course(peers: Sequence[str], seed: int, seconds: float, limit: float) -> list[Outcome]:
    """Plays the rounds, and shows each as soon as it has ended."""
    reap_orphans(True)
    folder = Path(mkdtemp(prefix="soak-"))  # short: Ray has sockets below it
    click.echo(f"logs, journals and output: {folder}", err=True)
    outcomes: list[Outcome] = []
    for fault in ROUNDS:
        for name in ("rain", *peers):
            outcome = Outcome(fault, name)
            place = folder / str(len(outcomes))

            def new_system(place: Path, name: str = name) -> System:
                return SYSTEMS[name](place, free_port())

            played(new_system, outcome, place, seed, seconds, limit)
            outcomes.append(outcome)
            click.echo(f"{outcome}, load {os.getloadavg()[0]:.0f}", err=True)
    return outcomes


def show(outcomes: Sequence[Outcome]) -> None:
    """The table, what was wrong, and where it was measured."""
    click.echo(table(outcomes))
    for line in details(outcomes):
        click.echo(line)
    for name, value in describe_machine(DISTRIBUTIONS).items():
        click.echo(f"{name}: {value}")
