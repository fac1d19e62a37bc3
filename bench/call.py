"""`python -m bench call`: what one call costs each process, on a machine that others use, too.

The time of a call depends on whatever else runs. What it makes the processes do depends on that far
less: their CPU time, how often they go to sleep, and how often they are put aside for another. So
these are read from the kernel before and after many calls, one after the other, of one client.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import click
from attrs import frozen

from bench.functions import inc
from bench.latency import WARM_UP_CALLS, call_often
from bench.options import Delivery, delivery_options, new_console
from bench.relay import BOTH, relay
from bench.runners import CallOnce, ours
from bench.sheet import Sheet

PROC = Path("/proc")

ROLES = ("client", BOTH, "server", "governor", "executor")
"""In the order in which a call comes to them."""


@frozen
class Used:
    """What a process has used so far, or from one reading to the next, in all of its threads."""

    seconds: float  # of CPU time
    sleeps: int  # it had nothing to do
    displaced: int  # another program got its cpu

    def since(self, before: "Used") -> "Used":
        return Used(
            self.seconds - before.seconds,
            self.sleeps - before.sleeps,
            self.displaced - before.displaced,
        )


def read_used(pid: int, proc: Path = PROC) -> Used:
    """What a process has used until now."""
    seconds, switches = 0.0, Counter[str]()
    for thread in (proc / str(pid) / "task").iterdir():
        seconds += int((thread / "schedstat").read_text().split()[0]) / 1e9
        for line in (thread / "status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.endswith("voluntary_ctxt_switches"):
                switches[name] += int(value)
    sleeps = switches["voluntary_ctxt_switches"]
    return Used(seconds, sleeps, switches["nonvoluntary_ctxt_switches"])


def descendants(pid: int, proc: Path = PROC) -> Iterator[int]:
    """The processes that a process has started, and those that these have started."""
    for thread in (proc / str(pid) / "task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            yield child
            yield from descendants(child, proc)


def role_of(command: str) -> str:
    """What a process of a cluster is, by its command line; "" for helpers that only wait."""
    words = command.split("\0")
    if "rain.executor" in words:
        return "executor"
    # Governors are copies of the process that has loaded all they need.
    if "embedded" in words:
        return BOTH
    named = {"server": "server", "template": "governor", "governor": "governor"}
    return next((role for word, role in named.items() if word in words), "")


def processes() -> list[tuple[str, int]]:
    """This client and the processes of its cluster."""
    found = [("client", os.getpid())]
    for pid in descendants(os.getpid()):
        role = role_of((PROC / str(pid) / "cmdline").read_text())
        if role:
            found.append((role, pid))
    return sorted(found, key=lambda one: ROLES.index(one[0]))


@frozen
class Costs:
    """What some calls took, and what each process used for them."""

    calls: int
    seconds: list[float]
    used: list[tuple[str, Used]]  # by the roles of the processes

    def rows(self) -> list[tuple[str, float, float, float]]:
        """Role, microseconds of CPU, sleeps and displacements for each call; and all together."""
        rows = [
            (
                role,
                used.seconds / self.calls * 1e6,
                used.sleeps / self.calls,
                used.displaced / self.calls,
            )
            for role, used in self.used
        ]
        totals = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
        return [*rows, ("together", totals[0], totals[1], totals[2])]


def costs_of(call: CallOnce, calls: int, known: list[tuple[str, int]] | None = None) -> Costs:
    """What calls cost these processes: those of the cluster, if no others are given."""
    call_often(call, WARM_UP_CALLS)
    known = known or processes()
    before = [read_used(pid) for _, pid in known]
    seconds = call_often(call, calls)
    after = [read_used(pid) for _, pid in known]
    used = [
        (role, later.since(sooner))
        for (role, _), sooner, later in zip(known, before, after, strict=True)
        if later.sleeps > sooner.sleeps  # the second executor has nothing to do
    ]
    return Costs(calls, seconds, used)


def call_sheet(name: str, costs: Costs) -> Sheet:
    return Sheet(
        title=f"{name}: {costs.calls:,} calls, one after the other",
        columns=("process", "CPU a call", "sleeps", "displaced"),
        rows=tuple(
            (role, f"{cpu:.0f} µs", f"{sleeps:.2f}", f"{displaced:.2f}")
            for role, cpu, sleeps, displaced in costs.rows()
        ),
        caption=f"Median of the calls: {median(costs.seconds) * 1e3:.2f} ms.",
    )


def call_values(name: str, costs: Costs) -> dict[str, object]:
    """All values of the table, for `--json`."""
    return {"name": name, "seconds": costs.seconds, "rows": costs.rows()}


@click.command(name="call")
@click.option("--calls", type=click.IntRange(min=1), default=2000, show_default=True)
@delivery_options
def command(calls: int, json_file: Path | None, markdown: bool) -> None:
    """Measure what one call costs each process, as the kernel counts it."""
    console = new_console()
    sheets: list[Sheet] = []
    values: list[dict[str, object]] = []
    with ours.cluster(2) as runner, runner.calling() as compute:
        ways: dict[str, Callable[[int], object]] = {
            "submit and result": lambda number: runner.client.submit(inc, number).result(),
            "compute": compute,
        }
        for name, call in ways.items():
            with console.status(name):
                costs = costs_of(call, calls)
            sheets.append(call_sheet(name, costs))
            values.append(call_values(name, costs))
    with console.status("messages alone"), relay() as around:
        costs = costs_of(around.call, calls, [("client", os.getpid()), *around.others])
    sheets.append(call_sheet("the same messages, and nothing else", costs))
    values.append(call_values("messages alone", costs))
    Delivery(json_file, markdown).deliver(console, "call", sheets, {"ways": values}, ())
