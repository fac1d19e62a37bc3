"""`python -m bench shuffle`: what a shuffle costs the server, and data frames beside Dask's own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import click

from bench.processes import HOST, Daemon, rain_daemon
from bench.runners.dask import cluster as dask_cluster
from bench.shapes import WrongAnswer
from rain.client import Client

COLUMNS = 4


def split(number: int, parts: int) -> list[int]:
    """A piece of two bytes for each part."""
    return [number % 100] * parts


def merge(pieces: Iterable[int]) -> int:
    return sum(pieces)


def same(number: int) -> int:
    return number


@contextmanager
def cluster(cpus: int) -> Generator[tuple[Client, Daemon, Daemon]]:
    """A server and a governor whose CPU can be read, and a client."""
    with TemporaryDirectory(prefix="rain-bench-") as name:
        folder = Path(name)
        own = ("server", "--listen", f"{HOST}:0", "--no-http", "--journal", "none")
        with rain_daemon("server", *own, folder=folder) as (server, address):
            words = ("governor", address, "--cpus", str(cpus), "--workdir", str(folder / "work"))
            with (
                rain_daemon("governor", *words, folder=folder) as (governor, _),
                Client(address) as client,
            ):
                client.submit(same, 1).result()
                yield client, server, governor


def costs(calls: int, sizes: Iterable[int], cpus: int) -> None:
    """Seconds of CPU for shuffles of n inputs into n parts, and for as many calls that sleep.

    The server hears of each slow task by itself, and of many short ones at once. So shuffles are
    also compared with calls that take as long as their splits and merges did.
    """
    click.echo(f"{'CPU, s':>24} {'server':>8} {'governor':>9} {'wall':>7}")
    with cluster(cpus) as (client, server, governor):

        def line(name: str, compute: Callable[[], object]) -> float:
            before, start = (server.cpu_seconds(), governor.cpu_seconds()), perf_counter()
            compute()
            wall = perf_counter() - start
            one, two = server.cpu_seconds() - before[0], governor.cpu_seconds() - before[1]
            click.echo(f"{name:>24} {one:8.2f} {two:9.2f} {wall:7.2f}")
            return wall

        line(f"{calls:,} short calls", lambda: client.gather(client.map(same, range(calls))))
        for size in sizes:
            wall = line(f"{size:,} x {size:,}", partial(_shuffled, client, size))
            sleeps = [wall * cpus / (2 * size)] * (2 * size)
            line(f"{2 * size:,} as slow", partial(_slept, client, sleeps))


def _slept(client: Client, sleeps: list[float]) -> None:
    client.gather(client.map(sleep, sleeps))


def _shuffled(client: Client, size: int) -> None:
    answers = client.gather(client.shuffle(range(size), split, merge, parts=size))
    if set(answers) != {sum(number % 100 for number in range(size))}:
        raise WrongAnswer(f"{size} x {size}")


def frames(rows: int, partitions: int, cpus: int) -> None:
    """Seconds of a merge and of a groupby with a function, by each way that there is."""
    dask: Any = import_module("dask")
    click.echo(f"{rows:,} rows of {COLUMNS} columns in {partitions} partitions")
    with Client(cpus=cpus) as client, dask.config.set({"scheduler": client.dask}):
        _timed("rain", "tasks", rows, partitions)
    with dask_cluster(cpus):  # it makes itself Dask's scheduler
        for method in ("p2p", "tasks"):
            _timed("dask.distributed", method, rows, partitions)


def _timed(system: str, method: str, rows: int, partitions: int) -> None:
    dask: Any = import_module("dask")
    with dask.config.set({"dataframe.shuffle.method": method}):
        for name, compute in (("merge", _merged), ("groupby.apply", _grouped)):
            compute(1000, 4)  # the workers import what they need
            start = perf_counter()
            compute(rows, partitions)
            click.echo(f"{system:>18} {method:>6} {name:>14} {perf_counter() - start:8.2f} s")


def _table(rows: int, partitions: int) -> Any:
    """Made by the workers: nothing is sent."""
    dask_frames: Any = import_module("dask.dataframe")
    size = rows // partitions
    return dask_frames.from_map(_part, [(place, size, rows) for place in range(partitions)])


def _part(place: tuple[int, int, int]) -> Any:
    numpy: Any = import_module("numpy")
    pandas: Any = import_module("pandas")
    number, size, rows = place
    count = numpy.arange(number * size, (number + 1) * size)
    key = count * 7919 % rows
    return pandas.DataFrame({"key": key, "group": key % 1000, "a": count, "b": count * 0.5})


def _merged(rows: int, partitions: int) -> None:
    left, right = _table(rows, partitions), _table(rows, partitions)[["key", "a"]]
    joined = left.merge(right, on="key", suffixes=("", "_right"))
    total = int((joined["a"] - joined["a_right"]).abs().sum().compute())
    count = int(joined["a"].count().compute()) if total else rows // partitions * partitions
    if total or count != rows // partitions * partitions:
        raise WrongAnswer(f"{total} and {count} rows")


def _grouped(rows: int, partitions: int) -> None:
    table = _table(rows, partitions)
    largest = table.groupby("group").apply(_largest, meta=("a", "int64")).compute()
    if int(largest.max()) != rows // partitions * partitions - 1:
        raise WrongAnswer(f"{int(largest.max())}")


def _largest(rows: Any) -> int:
    return int(rows["a"].max())


@click.command(name="shuffle")
@click.option("--calls", default=10_000, show_default=True, help="Short calls, to compare with.")
@click.option("--sizes", default="100,300,1000", show_default=True, help="Inputs and parts.")
@click.option("--rows", default=4_000_000, show_default=True, type=click.IntRange(min=1000))
@click.option("--partitions", default=32, show_default=True, type=click.IntRange(min=2))
@click.option("--cpus", default=2, show_default=True, type=click.IntRange(min=1))
def command(calls: int, sizes: str, rows: int, partitions: int, cpus: int) -> None:
    """Measure shuffles: the server's CPU, and data frames beside Dask's own ways."""
    costs(calls, [int(size) for size in sizes.split(",") if size], cpus)
    frames(rows, partitions, cpus)
