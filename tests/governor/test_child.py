"""The states of an executor's process: its table, and why it ends."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.base.errors import InvariantError, ProtocolError
from rain.governor.core.events import ExecutorDied
from rain.governor.executors.child import CHILD_STEPS, CHILD_TABLE, Child, ChildRow
from rain.governor.executors.process import Places
from rain.governor.machine.memory_files import KernelKills


@pytest.fixture
def child(tmp_path: Path) -> Generator[Child]:
    for stream in ("out", "err"):
        Places(tmp_path, tmp_path, tmp_path).log(7, stream).touch()
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    blamed: list[str] = []
    yield Child(
        7, process, Places(tmp_path, tmp_path, tmp_path), lambda _, what: blamed.append(what)
    )
    process.kill()
    process.wait()


def ended(child: Child) -> ExecutorDied:
    child.process.kill()
    child.reap(KernelKills())
    return child.death()


def reason(child: Child) -> str:
    return ended(child).cause.partition("\n")[0]


def test_the_table_names_each_row_once_and_each_can_be_reached() -> None:
    assert [facts.row for facts in CHILD_TABLE] == list(ChildRow)
    assert {ChildRow.STARTING, *(step.end for step in CHILD_STEPS)} == set(ChildRow)


def test_it_gets_calls_from_its_registration_to_its_kill(child: Child) -> None:
    assert not child.gets_calls
    assert child.register()
    assert child.gets_calls
    child.kill()
    assert not child.gets_calls
    assert child.row is ChildRow.KILLED


def test_it_registers_once(child: Child) -> None:
    child.register()
    with pytest.raises(ProtocolError, match="it registers twice"):
        child.register()


@pytest.mark.parametrize("end", [Child.kill, ended])
def test_a_registration_after_its_end_counts_no_more(child: Child, end: object) -> None:
    assert callable(end)
    end(child)
    assert not child.register()
    assert not child.gets_calls


def test_it_ends_once(child: Child) -> None:
    ended(child)
    with pytest.raises(InvariantError, match="executor 7 is ended and cannot end"):
        child.reap(KernelKills())


def test_one_that_has_ended_is_not_killed(child: Child) -> None:
    ended(child)
    child.refuse("came late")
    assert child.row is ChildRow.ENDED


def test_what_was_wrong_first_is_the_reason_of_its_end(child: Child) -> None:
    child.kill()
    child.note("broke off")
    child.refuse("broke the protocol")
    assert reason(child) == "executor 7 broke off"


def test_one_that_did_nothing_wrong_was_killed_by_its_governor(child: Child) -> None:
    child.kill()
    assert reason(child) == "executor 7 was killed by its governor"
    assert not child.is_wrong


def test_one_that_was_killed_by_others_ends_by_its_signal(child: Child) -> None:
    assert reason(child).startswith("executor 7 was killed by SIGKILL")
