"""Turns run in processes of their own, and nothing of them stays, however they end."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from bench.marks import MARK, end_marked
from bench.results import Quantity
from bench.runners import PEERS, SYSTEMS, Runner, System
from bench.shapes import WrongAnswer, independent
from bench.turn import Figure, Options, take_turn, timed
from bench.turns import Plan, Turn, choose_systems, measure_in_turns
from tests.bench import played

PLAYED = System("pool", "tests.bench.played", "concurrent", "", graphs=False)


def plan(mode: str, limit: float = 60.0) -> Plan:
    return Plan("tests.bench.played", {"cpus": 1, "mode": mode}, repeat=1, limit_seconds=limit)


def test_a_peer_that_is_missing_is_left_out_with_a_line_that_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_installed(system: System) -> bool:
        return system.name != "ray"

    monkeypatch.setattr(System, "is_installed", is_installed)
    console = Console(width=200, record=True, file=StringIO())

    systems = choose_systems(("dask", "ray"), console)

    assert [system.name for system in systems] == ["rain", "dask"]
    assert console.export_text() == "ray is not installed: pip install '.[bench]'\n"


@pytest.mark.whole
def test_a_turn_tells_its_figures_one_by_one() -> None:
    turn = Turn(PEERS["pool"], plan("two figures"))

    figures = list(turn.figures())

    assert figures == [("first", 1.5, None), ("second", None, [1, 2])]
    assert turn.problem == ""


@pytest.mark.whole
def test_a_turn_that_fails_says_how_and_keeps_what_it_has_shown() -> None:
    turn = Turn(PEERS["pool"], plan("a wrong answer"))

    figures = list(turn.figures())

    assert figures == [("first", 1.5, None)]
    assert turn.problem == "pool failed (exit status 1):\nError: this answer is wrong"


@pytest.mark.whole
def test_a_turn_that_hangs_is_ended_with_all_that_it_has_started() -> None:
    turn = Turn(PEERS["pool"], plan("a child hangs", limit=4.0))

    figures = list(turn.figures())

    ((name, _, child),) = figures
    assert name == "child"
    assert isinstance(child, int)
    assert turn.problem == "pool showed nothing for 4 s and was killed:\nwaiting for a child"
    assert played.is_gone(child)


@pytest.mark.whole
def test_an_error_of_a_measuring_function_is_shown_with_its_traceback() -> None:
    turn = Turn(PEERS["pool"], plan("an error"))

    assert list(turn.figures()) == []

    assert turn.problem.startswith("pool failed (exit status 1):\nTraceback")
    assert turn.problem.endswith("ZeroDivisionError: division by zero")


@pytest.mark.whole
def test_a_turn_that_was_killed_says_by_which_signal() -> None:
    turn = Turn(PEERS["pool"], plan("a kill"))

    assert list(turn.figures()) == [("first", 1.5, None)]

    assert turn.problem == "pool failed (SIGKILL)"


@pytest.mark.whole
def test_a_turn_that_does_not_end_after_its_figures_is_reported() -> None:
    turn = Turn(PEERS["pool"], plan("no end", limit=4.0))

    assert list(turn.figures()) == [("first", 1.5, None)]

    assert turn.problem == "pool showed everything, but did not end for 4 s and was killed"


@pytest.mark.whole
def test_without_a_terminal_each_turn_has_a_line() -> None:
    console = Console(width=200, file=StringIO(), record=True)

    measure_in_turns([PEERS["pool"]], [Quantity("first")], plan("two figures"), console)

    assert re.fullmatch(r"pool, turn 1 of 1: \d+ s\n", console.export_text())


@pytest.mark.whole
def test_a_problem_of_one_system_does_not_end_the_run() -> None:
    console = Console(width=200, record=True, file=StringIO())

    results = measure_in_turns(
        [PEERS["pool"], PEERS["pool"]], [Quantity("first")], plan("a wrong answer"), console
    )

    assert len(results.problems["pool"]) == 2
    assert results.of("pool", Quantity("first")) == [1.5, 1.5]


def test_processes_are_found_by_the_mark_in_their_environment() -> None:
    sleeping = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, MARK: "mine"}
    )
    assert sleeping.stdin is not None

    assert end_marked("nobody's") == []
    assert end_marked("mine") == [sleeping.pid]

    assert sleeping.wait() < 0
    sleeping.stdin.close()


def test_a_turn_warms_up_and_then_measures() -> None:
    shapes: list[str] = []
    system = System("played", "tests.bench.played", "concurrent", "")

    def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
        shapes.extend(played.shapes)
        yield "all", timed(runner, independent(3)), options["extra"]

    figures = list(take_turn(system, measure, {"cpus": 2, "extra": 7}))

    assert shapes == ["independent", "merge", "tree", "chain"]
    assert figures == [("all", 0.5, 7)]


def test_wrong_answers_count_for_nothing() -> None:
    class Wrong(played.PlayedRunner):
        answers_are_right = False

    with pytest.raises(WrongAnswer):
        timed(Wrong(), independent(2))


def test_limits_are_no_peers() -> None:
    assert [name for name, system in SYSTEMS.items() if system.is_limit] == [
        "futures",
        "pool",
        "pipe",
        "spawn",
        "loky",
    ]
