"""`python -m bench cache`: results that are kept for later runs, beside `joblib.Memory`.

`joblib.Memory` calls the function in this process, and looks into its folder here. With Rain each
call goes to a governor and back, which looks into the folder.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeAlias

import click
import numpy as np
from attrs import Factory, define

from bench.options import Delivery, delivery_options, new_console, repeat_option
from bench.runners import OURS
from bench.shapes import WrongAnswer
from bench.sheet import Sheet
from bench.summary import summarize
from rain.client import Client

MANY = 1000
MIB = 1 << 20
JOBLIB = "joblib"


def plus_one(number: int) -> int:
    return number + 1


def zeros(mebibytes: int, first: int) -> "np.ndarray[Any, Any]":
    array = np.zeros(mebibytes * MIB // 8)
    array[0] = first
    return array


Calls: TypeAlias = Callable[[Callable[..., Any], Sequence[tuple[int, ...]]], list[Any]]
"""Calls a function with each of these arguments, and gives all results."""


@define
class Row:
    """The seconds of each round, by the name of the system."""

    name: str
    seconds: dict[str, list[float]] = Factory(dict)


def calls_of_rain(client: Client, folder: Path) -> Calls:
    keeping = client.options(cache=folder)

    def call(fn: Callable[..., Any], arguments: Sequence[tuple[int, ...]]) -> list[Any]:
        if len(arguments) == 1:
            return [keeping.submit(fn, *arguments[0]).result()]
        results: list[Any] = client.gather(keeping.map(fn, *zip(*arguments, strict=True)))
        return results

    return call


def calls_of_joblib(folder: Path) -> Calls:
    memory: Any = import_module("joblib").Memory(folder, verbose=0)

    def call(fn: Callable[..., Any], arguments: Sequence[tuple[int, ...]]) -> list[Any]:
        kept = memory.cache(fn)
        return [kept(*one) for one in arguments]

    return call


def timed(calls: Calls, fn: Callable[..., Any], arguments: Sequence[tuple[int, ...]]) -> float:
    """Seconds until all results are here; checks them."""
    start = perf_counter()
    results = calls(fn, arguments)
    seconds = perf_counter() - start
    told = [float(np.ravel(result)[0]) for result in results]
    expected = [one[-1] + (fn is plus_one) for one in arguments]
    if told != expected:
        raise WrongAnswer(f"{told} instead of {expected}")
    return seconds


def measure(systems: dict[str, Calls], repeat: int, many: int, mebibytes: int) -> list[Row]:
    """All systems in turns. Each call is made twice, and only the first one runs."""
    fresh = count()
    rows: dict[str, Row] = {}
    for calls in systems.values():  # processes start, and libraries are imported
        timed(calls, plus_one, [(next(fresh),)])
        timed(calls, zeros, [(1, next(fresh))])
    for _ in range(repeat):
        for system, calls in systems.items():
            work: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
                "a call": (plus_one, [(next(fresh),)]),
                f"{many:,} calls": (plus_one, [(next(fresh),) for _ in range(many)]),
                f"an array of {mebibytes} MiB": (zeros, [(mebibytes, next(fresh))]),
            }
            for what, (fn, arguments) in work.items():
                for name in (f"{what}, run", f"{what}, from the cache"):
                    row = rows.setdefault(name, Row(name))
                    row.seconds.setdefault(system, []).append(timed(calls, fn, arguments))
    return list(rows.values())


def cache_sheet(rows: Sequence[Row]) -> Sheet:
    names = list(rows[0].seconds)
    return Sheet(
        title="Results kept for later runs",
        columns=("what", *(f"{name}, ms" for name in names)),
        rows=tuple(
            (
                row.name,
                *(f"{1000 * summarize(row.seconds[name]).median:,.2f}" for name in names),
            )
            for row in rows
        ),
    )


@click.command(name="cache")
@repeat_option(5)
@click.option(
    "--calls", type=click.IntRange(min=2), default=MANY, show_default=True, help="Short calls."
)
@click.option(
    "--mebibytes", type=click.IntRange(min=1), default=100, show_default=True, help="Of an array."
)
@delivery_options
def command(
    repeat: int, calls: int, mebibytes: int, json_file: Path | None, markdown: bool
) -> None:
    """Measure results from the cache, beside joblib.Memory."""
    console = new_console()
    with TemporaryDirectory(prefix="rain-bench-") as folder, Client(cpus=2) as client:
        systems = {
            "Rain": calls_of_rain(client, Path(folder) / "rain"),
            "joblib.Memory": calls_of_joblib(Path(folder) / JOBLIB),
        }
        rows = measure(systems, repeat, calls, mebibytes)
    Delivery(json_file, markdown).deliver(
        console,
        "cache",
        [cache_sheet(rows)],
        {"figures": {row.name: row.seconds for row in rows}},
        [OURS.distribution, JOBLIB],
    )
