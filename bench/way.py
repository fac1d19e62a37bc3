"""`python -m bench way`: the files and lines of Rain that one call passes through.

A reader who follows `submit(f, x).result()` to the executor and back has to know these files. A
tracer in every process notes them, on a cluster that has had the same call before. What runs beside
a call, like a heartbeat, runs beside few of them: a line counts if it ran in more than half.

With `--argument` only the files count in which a function has the argument, or bytes with it, in a
variable: the way of the argument itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from attrs import frozen

from bench.call import ROLES, processes
from bench.entering import CHECKOUT, Lines, traced_programs
from bench.functions import same
from bench.options import Delivery, delivery_options, new_console
from bench.runners import OURS, ours
from bench.sheet import Sheet

WARM_UP_CALLS = 3

ARGUMENT = "an argument that nothing else contains"


@frozen
class Way:
    """The lines that one call ran, for each process."""

    lines: dict[str, Lines]

    @property
    def roles(self) -> list[str]:
        """Those that this cluster has."""
        return [role for role in ROLES if self.lines.get(role)]

    def files(self) -> list[str]:
        return sorted({name for lines in self.lines.values() for name in lines})

    def count(self, role: str, name: str) -> int:
        return len(self.lines[role].get(name, ()))


def in_most(calls: Sequence[Lines]) -> Lines:
    """The lines that ran in more than half of the calls."""
    often = Counter((name, line) for lines in calls for name in lines for line in lines[name])
    found: Lines = {}
    for (name, line), count in often.items():
        if count > len(calls) / 2:
            found.setdefault(name, set()).add(line)
    return found


def together(several: Iterable[Sequence[Lines]]) -> list[Lines]:
    """The lines of processes that have the same role, for each call."""
    found: list[Lines] = []
    for calls in zip(*several, strict=True):
        one: Lines = {}
        for lines in calls:
            for name in lines:
                one.setdefault(name, set()).update(lines[name])
        found.append(one)
    return found


def measure(calls: int, argument: str = "") -> Way:
    """The way of some calls, or of their argument."""
    with traced_programs(argument) as windows, ours.cluster(1) as runner:
        for _ in range(WARM_UP_CALLS):
            runner.client.submit(same, argument).result()
        for _ in range(calls):
            with windows.open():
                runner.client.submit(same, argument).result()
        known = processes()
        noted = {
            role: together([windows.lines(pid) for its, pid in known if its == role])
            for role in ROLES
        }
    return Way({role: in_most(noted[role]) for role in ROLES})


def way_sheet(way: Way, what: str) -> Sheet:
    """The counts of each file; `what` says what was counted."""
    rows: list[tuple[str, ...]] = []
    for name in way.files():
        counts = [way.count(role, name) for role in way.roles]
        length = len((CHECKOUT / name).read_text().splitlines())
        rows.append((name, *(str(count or "") for count in counts), str(length)))
    numbers = [str(len(way.lines[role])) for role in way.roles]
    return Sheet(
        title=f"{what}, by file and process",
        columns=("file", *way.roles, "lines of it"),
        rows=(*rows, (f"{len(rows)} files", *numbers, "")),
        caption="client.submit(f, x).result() on a cluster that has had the same call before.",
    )


@click.command(name="way")
@click.option("--calls", type=click.IntRange(min=1, max=255), default=9, show_default=True)
@click.option("--argument", is_flag=True, help="Count only what has the argument of the call.")
@delivery_options
def command(calls: int, argument: bool, json_file: Path | None, markdown: bool) -> None:
    """Count the files and lines that one call passes through."""
    console = new_console()
    with console.status("one call, traced"):
        way = measure(calls, ARGUMENT if argument else "")
    what = "The way of one call: lines that ran"
    if argument:
        what = "The way of an argument: functions that have it"
    values = {
        role: {name: sorted(numbers) for name, numbers in way.lines[role].items()}
        for role in way.roles
    }
    Delivery(json_file, markdown).deliver(
        console, "way", [way_sheet(way, what)], {"lines": values}, [OURS.distribution]
    )
