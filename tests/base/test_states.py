"""The tables are whole and agree with each other and with the seed's."""

from __future__ import annotations

import pytest

from rain.base.copies import COPY_MOVES, COPY_STEPS, COPY_TABLE, STORED, CopyMove, CopyRow
from rain.base.governors import GOVERNOR_STEPS, GOVERNOR_TABLE, GovernorMove, GovernorRow
from rain.base.states import (
    OBJECT_MOVES,
    TASK_FACTS,
    TASK_MOVES,
    TASK_STEPS,
    TASK_TABLE,
    ObjectMove,
    ObjectState,
    Step,
    TaskFacts,
    TaskMove,
    TaskRow,
    TaskState,
)

# The task table of the seed: S, R and W, and the state that goes with them.
SEED_TASKS = {
    (False, False, False): {TaskState.NOT_ASSIGNED, TaskState.FAILED},  # skipped: not the seed's
    (True, False, False): {TaskState.NOT_ASSIGNED},
    (False, True, False): {TaskState.READY, TaskState.FINISHED, TaskState.FAILED},
    (True, True, False): {TaskState.READY},
    (True, True, True): {TaskState.ASSIGNED, TaskState.RUNNING},
    (True, False, True): {TaskState.ASSIGNED},  # ahead: a row of ours
}


MADE = {CopyRow.EXPECTED, CopyRow.MAKING}


def test_every_row_has_its_facts_and_every_state_its_rows() -> None:
    assert [facts.row for facts in TASK_TABLE] == list(TaskRow)
    assert {facts.state for facts in TASK_TABLE} == set(TaskState)
    assert {facts.row for facts in COPY_TABLE} == set(CopyRow)


def test_every_row_of_a_governor_has_its_facts_and_nothing_leads_away_from_the_last_one() -> None:
    assert [facts.row for facts in GOVERNOR_TABLE] == list(GovernorRow)
    assert {step.move for step in GOVERNOR_STEPS} == set(GovernorMove)
    assert not [step for step in GOVERNOR_STEPS if step.start is GovernorRow.DRAINS]
    assert [facts.gets_tasks for facts in GOVERNOR_TABLE] == [True, False, False]


def test_the_rows_of_tasks_show_the_states_that_the_seed_gives_them() -> None:
    seeds = [facts for facts in TASK_TABLE if facts.state is not TaskState.CANCELLED]
    for facts in seeds:
        assert facts.ready is not None
        assert facts.state in SEED_TASKS[facts.scheduled, facts.ready, facts.assigned]
    assert {(f.scheduled, f.ready, f.assigned) for f in seeds} == set(SEED_TASKS)


def test_a_task_that_was_cancelled_has_a_governor_only_until_that_one_has_ended_it() -> None:
    cancelling, cancelled = TASK_FACTS[TaskRow.CANCELLING], TASK_FACTS[TaskRow.CANCELLED]
    assert (cancelling.scheduled, cancelling.assigned, cancelling.queued) == (True, True, False)
    assert (cancelled.scheduled, cancelled.assigned, cancelled.queued) == (False, False, False)
    assert cancelling.ready is cancelled.ready is None
    assert [facts.row for facts in TASK_TABLE if facts.ready is None] == [
        TaskRow.CANCELLING,
        TaskRow.CANCELLED,
    ]


def test_a_task_is_queued_exactly_when_it_is_planned_ready_and_not_sent() -> None:
    for facts in TASK_TABLE:
        assert facts.queued == bool(facts.scheduled and facts.ready and not facts.assigned)


def test_every_move_of_a_task_is_allowed_somewhere_and_leads_to_one_row() -> None:
    assert set(TASK_MOVES) == set(TaskMove)
    assert all(TASK_MOVES.values())
    assert len({(step.start, step.move) for step in TASK_STEPS}) == len(TASK_STEPS)
    assert {step.end for step in TASK_STEPS} == set(TaskRow)  # waiting, too, by a loss


def test_a_failed_or_cancelled_task_stays_so() -> None:
    ends = {TaskRow.FAILED, TaskRow.SKIPPED, TaskRow.CANCELLED}
    assert not [step for step in TASK_STEPS if step.start in ends]


def test_a_failed_object_stays_failed() -> None:
    assert not [moves for moves in OBJECT_MOVES.values() if ObjectState.FAILED in moves]


@pytest.mark.parametrize(
    "step", TASK_STEPS, ids=lambda step: f"{step.start.value}-{step.move.value}"
)
def test_moves_change_only_the_facts_that_they_speak_of(step: object) -> None:
    # given
    chosen = next(other for other in TASK_STEPS if other is step)
    before, after = TASK_FACTS[chosen.start], TASK_FACTS[chosen.end]

    # when / then
    match chosen.move:
        case TaskMove.INPUTS_FINISHED:
            assert (before.ready, after.ready) == (False, True)
            assert before.scheduled == after.scheduled
        case TaskMove.INPUT_LOST:
            assert (before.ready, after.ready) == (True, False)
            assert before.scheduled == after.scheduled
        case TaskMove.PLAN:
            assert (before.scheduled, after.scheduled) == (False, True)
            assert before.ready == after.ready
        case TaskMove.RUN_FAILED | TaskMove.HAND_BACK | TaskMove.HAND_ON:
            assert (before.assigned, after.assigned, after.scheduled) == (True, False, False)
            assert before.ready == after.ready
        case TaskMove.TAKE_BACK | TaskMove.GOVERNOR_LOST:
            assert (before.scheduled, after.scheduled) == (True, False)
            assert before.ready == after.ready
        case TaskMove.ASSIGN:
            assert (before.assigned, after.assigned) == (False, True)
        case TaskMove.RECALL:
            assert (before.assigned, after.assigned) == (True, False)
            assert before.scheduled == after.scheduled
            assert before.ready == after.ready
        case TaskMove.START | TaskMove.BLOCK | TaskMove.RESUME | TaskMove.ASK | TaskMove.STAY:
            assert before.assigned
            assert after.assigned
        case _:
            _ends_change_only_what_they_speak_of(chosen.move, before, after)


def _ends_change_only_what_they_speak_of(
    move: TaskMove, before: TaskFacts, after: TaskFacts
) -> None:
    match move:
        case TaskMove.FAIL | TaskMove.SKIP:
            assert (before.scheduled, after.scheduled) == (False, False)
            assert before.ready == after.ready
        case TaskMove.PAUSE | TaskMove.END_PAUSE:
            assert {before.row, after.row} == {TaskRow.READY, TaskRow.PAUSED}
        case TaskMove.LIMIT | TaskMove.END_LIMIT:
            assert {before.row, after.row} == {TaskRow.READY, TaskRow.LIMITED}
        case TaskMove.FINISH:
            assert before.assigned
            assert not after.scheduled
            assert not after.assigned
        case TaskMove.ADOPT:
            assert (before.scheduled, after.scheduled) == (False, False)
            assert before.ready
        case TaskMove.CANCEL:
            assert before.state is not TaskState.FINISHED
            assert (after.assigned, after.state) == (before.assigned, TaskState.CANCELLED)
        case TaskMove.END:
            assert (before.assigned, after.assigned) == (True, False)
            assert before.state is after.state is TaskState.CANCELLED
        case _:
            assert move is TaskMove.OUTPUT_LOST
            assert before.row is TaskRow.FINISHED


def test_objects_that_are_removed_or_lost_can_come_back() -> None:
    assert OBJECT_MOVES[ObjectMove.LOSE][ObjectState.FINISHED] is ObjectState.UNFINISHED
    assert OBJECT_MOVES[ObjectMove.REVIVE][ObjectState.REMOVED] is ObjectState.UNFINISHED


def test_a_copy_goes_no_way_twice_and_each_of_its_rows_can_be_left() -> None:
    assert sum(map(len, COPY_MOVES.values())) == len(COPY_STEPS)
    for row in STORED:
        for move in (CopyMove.DROP, CopyMove.LOSE):
            assert COPY_MOVES[move][row] is CopyRow.NONE


@pytest.mark.parametrize(
    "step", COPY_STEPS, ids=lambda step: f"{step.start.value}-{step.move.value}"
)
def test_a_move_of_a_copy_changes_what_it_says(step: Step[CopyRow, CopyMove]) -> None:
    # given: what holds of the copy of a finished object before and after, or of what was made
    facts = {facts.row: facts for facts in COPY_TABLE if facts.finished or facts.row in MADE}
    before, after = facts[step.start], facts[step.end]

    # then
    assert after.finished
    match step.move:
        case CopyMove.ORDER:
            assert (before.scheduled, after.scheduled, after.told) == (False, True, False)
        case CopyMove.TELL:
            assert (before.told, after.told, after.located) == (False, True, False)
        case CopyMove.ARRIVE:
            assert (before.told, before.located, after.located) == (True, False, True)
        case CopyMove.MISS:
            assert (before.located, after.told, after.located) == (True, True, False)
        case CopyMove.MAKE:
            assert after.located
        case CopyMove.DROP | CopyMove.LOSE:
            assert before.scheduled
            assert not after.scheduled
