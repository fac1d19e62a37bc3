"""`python -m bench memory`: runs each work on each system, and makes the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from math import isclose, nan
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from attrs import asdict, frozen

from bench.marks import MARK, end_marked
from bench.memory.groups import GLANCE_SECONDS, Group, Marked, bounded
from bench.memory.one import ANSWER, SYSTEMS
from bench.memory.works import WORKS, Sizes, expected
from bench.options import Delivery, delivery_options, names_option, new_console
from bench.sheet import Sheet
from rain.base.resources import MEMORY, checked_amount
from rain.base.sizes import spell_size

PARTS_IN_MEMORY = 16
"""A part has this fraction of the memory, as people choose it: several fit for each cpu."""

SAID = 400
"""Characters of what a failed run has said last."""


@frozen
class Outcome:
    """How a work went."""

    seconds: float  # nan if it has not finished
    peak: int
    answer: float = nan
    kills: int = 0
    said: str = ""

    @property
    def has_finished(self) -> bool:
        """Whether there is an answer."""
        return self.seconds == self.seconds


def _size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    try:
        return checked_amount(MEMORY, value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a size, such as 2G", ctx, param) from None


@click.command()
@click.option("--size", default="20G", show_default=True, callback=_size, help="Of the data.")
@click.option("--memory", default="2G", show_default=True, callback=_size, help="That there is.")
@click.option("--seconds", default=1800, show_default=True, help="After so long a work has failed.")
@names_option("--systems", SYSTEMS, explained="What is measured.")
@names_option("--works", WORKS, explained="What is computed.")
@delivery_options
def command(
    size: int,
    memory: int,
    seconds: int,
    systems: tuple[str, ...],
    works: tuple[str, ...],
    json_file: Path | None,
    markdown: bool,
) -> None:
    """Work on more data than there is memory, on Rain, Dask and Ray with the same limit.

    The arrays, tables and trees are written in Dask's collections, which Rain and Dask compute, and
    as plain tasks of Ray. With a control group the kernel holds all of them to the limit; without
    one each system is told it. The peak is heaps and shared memory of all processes together.
    """
    sizes = Sizes(size, memory // PARTS_IN_MEMORY)
    console = new_console()
    outcomes: dict[str, dict[str, Outcome]] = {}
    for work in works:
        right = expected(work, sizes)
        for system in systems:
            outcome = run(system, work, sizes, memory, seconds)
            if right is None and outcome.has_finished:
                right = outcome.answer
            if outcome.has_finished and not isclose(outcome.answer, right or nan, rel_tol=1e-9):
                outcome = Outcome(nan, outcome.peak, said=f"{outcome.answer} is not {right}")
            outcomes.setdefault(work, {})[system] = outcome
            console.print(f"{work} on {system}: {_cell(outcome)}", highlight=False)
            if outcome.said:
                console.print(outcome.said, markup=False, highlight=False)
    sheet = _sheet(size, memory, systems, outcomes)
    values: dict[str, object] = {
        work: {name: asdict(outcome) for name, outcome in by.items()}
        for work, by in outcomes.items()
    }
    Delivery(json_file, markdown).deliver(
        console, "memory", [sheet], values, ("dask", "distributed", "ray", "numpy", "pandas")
    )


def run(system: str, work: str, sizes: Sizes, memory: int, limit_seconds: float) -> Outcome:
    """One work on one system; kills all that it has started when it ends or takes too long."""
    mark = f"memory-{os.getpid()}-{system}-{work}"
    with TemporaryDirectory(prefix="rb-") as name, bounded(memory, mark) as group:
        folder = Path(name)
        words = [system, work, str(sizes.total), str(sizes.part), str(memory), name]
        with (folder / "err").open("w+b") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.memory.one", *words, str(group.folder or "")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env={**os.environ, MARK: mark, "TMPDIR": name},
            )
            peak = _watch(process, group, limit_seconds)
        kills = group.kills()
        end_marked(mark)
        if (folder / ANSWER).exists():
            told = json.loads((folder / ANSWER).read_text())
            return Outcome(told["seconds"], peak, told["answer"], kills)
        why = (folder / "err").read_text(errors="replace").strip()[-SAID:]
        return Outcome(nan, peak, kills=kills, said=why or f"nothing after {limit_seconds:g} s")


def _watch(process: subprocess.Popen[bytes], group: Group | Marked, seconds: float) -> int:
    """The most memory until the process ends; it is killed when its time is over."""
    late, peak = time.monotonic() + seconds, 0
    while True:
        peak = max(peak, group.used())
        try:
            process.wait(GLANCE_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() > late:
                process.kill()
                process.wait()
            continue
        return peak


def _cell(one: Outcome) -> str:
    time_taken = f"{one.seconds:.1f} s" if one.has_finished else "failed"
    kills = f", {one.kills} killed" if one.kills else ""
    return f"{time_taken}, {spell_size(one.peak)}{kills}"


def _sheet(
    size: int, memory: int, systems: tuple[str, ...], outcomes: dict[str, dict[str, Outcome]]
) -> Sheet:
    rows = [(work, *(_cell(by[name]) for name in systems)) for work, by in outcomes.items()]
    return Sheet(
        f"{spell_size(size)} of data in {spell_size(memory)} of memory",
        ("work", *systems),
        tuple(rows),
        "Time, the most memory of all processes together, and how many the kernel has killed.",
    )
