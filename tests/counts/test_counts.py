"""What a task costs is counted, and does not grow.

`LIMITS` holds the figures of today, rounded up: bytes have 2 % more, because the names of folders
differ. Calls of Python's functions are printed and have no limit: to take a helper out of a long
function must not fail. When a change makes a figure smaller,
lower its limit, so that it cannot come back; a change that must make one larger raises it, and says
why in its commit. To see all figures:

    python -m pytest tests/counts -rP
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from rain.client import Client, DataObject, Output, Task, remote
from tests.counts.counting import Counted
from tests.counts.path import count

TASKS = 1000
DEPTH = 10  # of the tree: 1023 tasks
ROUNDS = 50

Program = Callable[[Client, Counted], None]


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def inc(ctx: object, number: int) -> int:
    return number + 1


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def add(ctx: object, left: int, right: int) -> int:
    return left + right


def warm(client: Client) -> None:
    """The governor has started its executors."""
    with client.new_session("warm") as session:
        for _ in range(8):
            inc(1)
        session.submit()
        session.wait_all()


def run(
    client: Client, counted: Counted, describe: Callable[[], list[Task]], *, fuse: bool = False
) -> None:
    """Describes a graph, submits it, waits, and takes its results."""
    warm(client)
    counted.clear()
    with client.new_session("counted") as session:
        with counted.calls("client"):
            wanted = [task.output for task in describe()]
            for output in wanted:
                output.keep()
            session.submit(fuse=fuse)
            session.wait_all()
            values = [output.fetch().load() for output in wanted]
        assert values == [1] * len(wanted)


def independent(client: Client, counted: Counted) -> None:
    run(client, counted, lambda: [inc(number) for number in range(TASKS)])


def line() -> list[Task]:
    task = inc(0)
    for _ in range(TASKS - 1):
        task = inc(task)
    return [task]


def chain(client: Client, counted: Counted) -> None:
    run(client, counted, line)


def fused_chain(client: Client, counted: Counted) -> None:
    run(client, counted, line, fuse=True)


def tree(client: Client, counted: Counted) -> None:
    def describe() -> list[Task]:
        row = [add(number, number) for number in range(2 ** (DEPTH - 1))]
        while len(row) > 1:
            row = [add(row[i], row[i + 1]) for i in range(0, len(row), 2)]
        return row

    run(client, counted, describe)


def round_trips(client: Client, counted: Counted) -> None:
    """One task after the other, in one session that has told its function already."""
    held: list[DataObject] = []  # what is collected would be told by a thread, some time later
    with client.new_session("counted") as session:
        for number in range(ROUNDS + 10):
            if number == 10:
                counted.clear()
            with counted.calls("client"):
                output = inc(number).output
                held.append(output)
                value = session.compute(output).load()
            assert value == 1


PROGRAMS: dict[str, tuple[Program, int]] = {
    "independent": (independent, TASKS),
    "chain": (chain, TASKS),
    "fused chain": (fused_chain, TASKS),
    "tree": (tree, 2**DEPTH - 1),
    "round trip": (round_trips, ROUNDS),
}

LIMITS: dict[str, dict[str, float]] = {
    "independent": {
        "bytes client to server": 109.8,
        "bytes executor to governor": 36.8,
        "bytes governor to executor": 97.3,
        "bytes governor to server": 58.2,  # runs and counts take as much room as ids
        "bytes server to client": 37.2,
        "bytes server to governor": 117.8,
        "messages client to server": 0.00401,
        "messages executor to governor": 0.0101,
        "messages governor to executor": 0.0121,
        "messages governor to server": 0.00602,
        "messages server to client": 0.00401,
        "messages server to governor": 0.00502,
        "moves governor": 5.05,
        "moves server": 5.05,
        "scheduler runs": 0.00101,
        "turns governor": 0.00803,
        "turns server": 0.00902,
    },
    "chain": {
        "bytes client to server": 176.7,
        "bytes executor to governor": 36.8,
        "bytes governor to executor": 183.0,
        "bytes governor to server": 57.9,
        "bytes server to client": 0.139,
        "bytes server to governor": 191.7,
        "messages client to server": 0.00401,
        "messages executor to governor": 0.00401,
        "messages governor to executor": 0.00602,  # with the end of the session before
        "messages governor to server": 0.00501,
        "messages server to client": 0.00401,
        "messages server to governor": 0.00402,
        "moves governor": 6.02,
        "moves server": 6.02,
        "scheduler runs": 0.00101,
        "turns governor": 0.00702,
        "turns server": 0.00802,
    },
    "fused chain": {
        "bytes client to server": 27.0,  # the length of folders is in it
        "bytes executor to governor": 0.0368,
        "bytes governor to executor": 26.6,
        "bytes governor to server": 0.294,  # with places for waits, ends, peaks, moves, room
        "bytes server to client": 0.139,
        "bytes server to governor": 27.0,
        "messages client to server": 0.00401,
        "messages executor to governor": 0.00101,
        "messages governor to executor": 0.00301,
        "messages governor to server": 0.00101,
        "messages server to client": 0.00401,
        "messages server to governor": 0.00101,
        "moves governor": 0.0151,
        "moves server": 0.00601,
        "scheduler runs": 0.00101,
        "turns governor": 0.00201,
        "turns server": 0.00501,
    },
    "tree": {
        "bytes client to server": 182.0,
        "bytes executor to governor": 36.8,
        "bytes governor to executor": 195.0,
        "bytes governor to server": 58.2,
        "bytes server to client": 0.136,
        "bytes server to governor": 198.6,
        "messages client to server": 0.00392,
        "messages executor to governor": 0.0109,
        "messages governor to executor": 0.0128,
        "messages governor to server": 0.00686,
        "messages server to client": 0.00392,
        "messages server to governor": 0.00392,
        "moves governor": 6.04,
        "moves server": 6.02,
        "scheduler runs": 0.00196,
        "turns governor": 0.00883,
        "turns server": 0.00979,
    },
    "round trip": {
        "bytes client to server": 256.0,  # with what is wanted, for which nothing else is sent
        "bytes executor to governor": 36.8,
        "bytes governor to executor": 100.0,
        "bytes governor to server": 294.0,  # with places for waits, ends, peaks, moves, room
        "bytes server to client": 144.0,  # results come with the answer to a wait
        "bytes server to governor": 304.0,  # with places for ends, needs, moves, and a number
        "messages client to server": 1.03,
        "messages executor to governor": 1.01,
        "messages governor to executor": 1.03,
        "messages governor to server": 1.01,
        "messages server to client": 1.03,
        "messages server to governor": 1.03,
        "moves governor": 6.24,
        "moves server": 5.02,
        "scheduler runs": 1.01,
        "turns governor": 2.03,
        "turns server": 2.03,
    },
}


def a_task(name: str) -> dict[str, float]:
    """The counts of a program, for each of its tasks."""
    program, tasks = PROGRAMS[name]
    counted = count(program)
    return {what: counted[what] / tasks for what in sorted(counted)}


@pytest.fixture(autouse=True)
def arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this program travel with functions, and would count."""
    monkeypatch.setattr(sys, "argv", ["program.py"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_task_costs_does_not_grow(name: str) -> None:
    figures = a_task(name)

    print(f"{name}, for each task:")  # noqa: T201 # -rP shows it
    for what, figure in figures.items():
        print(f"  {what:40} {figure:12.6f}")  # noqa: T201 # -rP shows it
    limits = LIMITS[name]
    limited = {what: figure for what, figure in figures.items() if not what.startswith("calls ")}
    assert set(limited) <= set(limits), "something is counted that has no limit"
    grown = {
        what: f"{figure:.4f} > {limits[what]:.4f}"
        for what, figure in limited.items()
        if figure > limits[what]
    }
    assert not grown


def test_the_same_program_always_costs_the_same() -> None:
    assert a_task("tree") == a_task("tree")
