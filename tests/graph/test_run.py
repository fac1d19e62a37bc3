"""Runs move along their table, end once, and are remembered as far as they must be."""

from __future__ import annotations

from itertools import product

import pytest

from rain.base.address import Source
from rain.base.errors import InvariantError
from rain.base.runs import RUN_FACTS, RUN_STEPS, RUN_TABLE, RunCause, RunState
from rain.base.states import TASK_FACTS, TASK_STEPS, TaskMove, TaskRow
from rain.graph.run import MOST_FORMER, Ending, Run, remembered

GOVERNOR, LEFT, TAKEN_BACK = RunCause.GOVERNOR, RunCause.GOVERNOR_LEFT, RunCause.TAKEN_BACK


def run(state: RunState = RunState.TOLD, cause: RunCause | None = None, number: int = 1) -> Run:
    return Run(number, Source("here:1", 7), 10.0, state, cause=cause)


def many(*ends: tuple[RunState, RunCause | None]) -> tuple[Run, ...]:
    return tuple(run(state, cause, number) for number, (state, cause) in enumerate(ends, 1))


@pytest.mark.parametrize(
    ("state", "move"), list(product(RunState, TaskMove)), ids=lambda member: member.value
)
def test_a_run_moves_along_its_table_or_not_at_all(state: RunState, move: TaskMove) -> None:
    node = run(state)
    ends = [step.end for step in RUN_STEPS if step.start is state and step.move is move]
    if ends:
        node.move(move)
        assert node.state is ends[0]
    else:
        with pytest.raises(InvariantError, match=f"cannot move by '{move.value}'"):
            node.move(move)
        assert node.state is state


def test_every_state_has_one_row_and_only_the_assigned_rows_of_tasks_have_an_open_run() -> None:
    assert [facts.state for facts in RUN_TABLE] == list(RunState)
    rows = {row for facts in RUN_TABLE for row in facts.rows}
    assert rows == {row for row in TaskRow if TASK_FACTS[row].assigned}


GOES_ON = {TaskMove.BLOCK, TaskMove.RESUME, TaskMove.CANCEL, TaskMove.ASK, TaskMove.STAY}


@pytest.mark.parametrize("step", TASK_STEPS, ids=lambda step: f"{step.start}-{step.move}")
def test_when_the_task_moves_its_open_run_can_follow(step: object) -> None:
    chosen = next(other for other in TASK_STEPS if other is step)
    before, after = TASK_FACTS[chosen.start], TASK_FACTS[chosen.end]
    if not before.assigned or chosen.move is TaskMove.INPUTS_FINISHED:
        return
    for facts in RUN_TABLE:
        if chosen.start in facts.rows and chosen.move in GOES_ON:
            assert (
                chosen.end in facts.rows
            )  # while its task waits for others, is asked back or ended
        elif chosen.start in facts.rows:
            (end,) = [
                one.end for one in RUN_STEPS if one.start is facts.state and one.move is chosen.move
            ]
            assert RUN_FACTS[end].is_open == after.assigned


def test_a_run_that_ends_says_why_and_how_long_it_took() -> None:
    node = run()
    node.move(TaskMove.START)
    node.started, node.debug = 12.0, "a line"
    node.end(TaskMove.GOVERNOR_LOST, Ending(15.5, GOVERNOR, "killed"))
    report = node.report()
    assert (report.number, report.governor, report.state) == (1, "here:1", RunState.LOST)
    assert (report.cause, report.message, report.debug) == (GOVERNOR, "killed", "a line")
    assert report.told_time == "1970-01-01T00:00:10+00:00"
    assert report.start_time == "1970-01-01T00:00:12+00:00"
    assert report.duration == 3.5


def test_a_run_that_never_started_took_no_time() -> None:
    node = run()
    node.end(TaskMove.TAKE_BACK, Ending(15.5, TAKEN_BACK))
    assert (node.started, node.duration) == (0.0, 0.0)


def test_the_last_ones_of_many_withdrawn_runs_are_remembered() -> None:
    withdrawn = RunState.WITHDRAWN, TAKEN_BACK
    former: tuple[Run, ...] = ()
    for number in range(1, 100):
        former = remembered((*former, run(*withdrawn, number)))
    assert [found.number for found in former] == [*range(100 - MOST_FORMER, 100)]


def test_runs_that_count_for_tries_are_remembered_however_many_there_are() -> None:
    failed, lost = (RunState.FAILED, RunCause.TASK), (RunState.LOST, GOVERNOR)
    left = RunState.LOST, LEFT
    ends = [failed, left] * 60 + [lost, left] * 5
    former: tuple[Run, ...] = ()
    for number, end in enumerate(ends, 1):
        former = remembered((*former, run(*end, number)))
    kept = [found.cause for found in former]
    assert kept.count(RunCause.TASK) == 60
    assert kept.count(GOVERNOR) == 5


def test_what_was_before_the_last_finished_run_goes_first() -> None:
    failed, finished = (RunState.FAILED, RunCause.TASK), (RunState.FINISHED, None)
    former = many(failed, finished, *[failed] * (MOST_FORMER - 1))
    assert [found.number for found in remembered(former)] == [*range(2, MOST_FORMER + 2)]
