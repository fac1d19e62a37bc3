"""Tasks are tried again as often as they may be, and a failure says what all tries have said."""

from __future__ import annotations

import pytest

from rain.base.address import Source
from rain.base.attempts import LONGEST_PAUSE, Attempts
from rain.base.failures import REMEMBERED_TEXT, SessionFailure
from rain.base.ids import TaskId
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow, TaskState
from rain.base.wire.update import TaskFailure, Update
from rain.graph import Run
from rain.server.core.messages import GovernorUpdated, Refuse
from rain.server.core.tries import may_try_again, pause_after
from tests.support.fake_client import reports_of
from tests.support.scenes import Scene, scene

TASK, EXECUTOR, GOVERNOR = RunCause.TASK, RunCause.EXECUTOR, RunCause.GOVERNOR
HANDED_BACK, LEFT, TAKEN_BACK = RunCause.NOT_STARTED, RunCause.GOVERNOR_LEFT, RunCause.TAKEN_BACK
STATES = {
    None: RunState.FINISHED,
    TASK: RunState.FAILED,
    EXECUTOR: RunState.FAILED,
    GOVERNOR: RunState.LOST,
    LEFT: RunState.LOST,
    HANDED_BACK: RunState.HANDED_BACK,
    TAKEN_BACK: RunState.WITHDRAWN,
}


def runs(*causes: RunCause | None) -> list[Run]:
    """Runs that have ended so; None for one that has finished."""
    return [
        Run(number, Source("here:1"), 1.0, STATES[cause], cause=cause)
        for number, cause in enumerate(causes, 1)
    ]


def failed(s: Scene, task: TaskId) -> list[tuple[int, RunState, RunCause | None]]:
    """The runs of a task that count for its tries."""
    node = s.world.task(task)
    return [
        (run.number, run.state, run.cause)
        for run in node.runs
        if run.state is RunState.FAILED or run.cause is GOVERNOR
    ]


@pytest.mark.parametrize(
    ("tries", "causes", "again"),
    [
        (1, (TAKEN_BACK, LEFT, HANDED_BACK), True),
        (1, (TASK, None, LEFT), True),
        (2, (TASK, None, TASK), True),
        (2, (TASK, None, TASK, TAKEN_BACK, EXECUTOR), True),
        (2, (TASK, None, TASK, EXECUTOR, TASK), False),
        (1, (GOVERNOR, GOVERNOR, None, GOVERNOR), True),
        (1, (TASK,), False),
        (1, (EXECUTOR,), True),
        (1, (EXECUTOR, EXECUTOR), True),
        (1, (EXECUTOR, EXECUTOR, EXECUTOR), False),
        (1, (EXECUTOR, GOVERNOR, EXECUTOR), False),
        (1, (EXECUTOR, TASK), False),
        (1, (GOVERNOR,), True),
        (1, (GOVERNOR, GOVERNOR), True),
        (1, (GOVERNOR, GOVERNOR, GOVERNOR), False),
        (1, (GOVERNOR, TASK), False),
        (3, (TASK, EXECUTOR), True),
        (3, (TASK, EXECUTOR, TASK), True),
        (3, (TASK, EXECUTOR, TASK, EXECUTOR, TASK), False),
        (3, (TASK, GOVERNOR, TASK, GOVERNOR), True),
        (100, (GOVERNOR, GOVERNOR, GOVERNOR), False),
    ],
)
def test_tries_are_used_up_by_failures_and_crash_tries_by_what_ends_around_a_task(
    tries: int, causes: tuple[RunCause | None, ...], again: bool
) -> None:
    assert may_try_again(Attempts(tries), runs(*causes), crash_limit=3) is again


@pytest.mark.parametrize(
    ("crash_tries", "causes", "again"),
    [
        (1, (EXECUTOR,), False),
        (1, (GOVERNOR,), False),
        (2, (GOVERNOR,), True),
        (2, (GOVERNOR, EXECUTOR), False),
        (5, (EXECUTOR, EXECUTOR, EXECUTOR, EXECUTOR), True),
    ],
)
def test_a_task_that_says_how_often_it_may_crash_does_not_ask_the_server(
    crash_tries: int, causes: tuple[RunCause, ...], again: bool
) -> None:
    assert may_try_again(Attempts(1, crash_tries), runs(*causes), crash_limit=3) is again


@pytest.mark.parametrize(
    ("backoff", "causes", "seconds"),
    [
        (0.0, (TASK,), 0.0),
        (2.0, (TASK,), 2.0),
        (2.0, (TASK, EXECUTOR, TASK), 8.0),
        (2.0, (TASK, GOVERNOR, HANDED_BACK, TASK), 4.0),
        (2.0, (TASK, TASK, None, TASK), 2.0),
        (2.0, (TASK,) * 90, LONGEST_PAUSE),
        (1e5, (TASK, TASK), 1e5),
    ],
)
def test_a_pause_is_twice_as_long_after_each_failed_run_up_to_a_bound(
    backoff: float, causes: tuple[RunCause | None, ...], seconds: float
) -> None:
    assert pause_after(Attempts(100, backoff=backoff), runs(*causes)) == seconds


def running(tries: int, *, governors: int = 2) -> tuple[Scene, TaskId]:
    """A task with this number of tries that runs on the first governor."""
    s = scene(*[1] * governors)
    task, _ = s.draft.task(keep=True, tries=tries)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    return s, task


def test_a_task_with_another_try_is_planned_anew_and_nobody_is_told() -> None:
    # given
    s, task = running(2, governors=1)
    wait = s.client.wait(s.draft.session, task)

    # when
    s.governors[0].fail(task, "the first time")

    # then: it is ready again, without a place
    node = s.world.task(task)
    assert (node.row, node.scheduled) == (TaskRow.READY, None)
    assert list(s.scripted.heard[-1].unplanned) == [node]
    assert s.node(0).active_cpus == 0
    assert wait not in s.world.answers

    # and when the next try succeeds, that is the end of the wait
    s.assign(task)
    assert s.governors[0].tasks == {task: 2}
    s.governors[0].finish(task)
    assert wait in s.world.answers
    assert s.world.task(task).state is TaskState.FINISHED


def test_the_last_try_fails_the_session_and_tells_what_each_has_said() -> None:
    s, task = running(2)
    s.governors[0].fail(task, "first")
    s.assign(task, to=1)
    s.governors[1].fail(task, "second", EXECUTOR)
    s.assign(task)
    wait = s.client.wait(s.draft.session, task)

    s.governors[0].fail(task, "third")

    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    failure = refusal.reason
    assert isinstance(failure, SessionFailure)
    assert (failure.message, failure.task) == ("third", task)
    first, second = s.governors[0].address, s.governors[1].address
    assert [(run.number, run.governor, run.cause, run.message) for run in failure.runs] == [
        (1, first, TASK, "first"),
        (2, second, EXECUTOR, "second"),
        (3, first, TASK, "third"),
    ]
    assert {run.state for run in failure.runs} == {RunState.FAILED}


def test_what_has_failed_so_far_is_told_with_the_states() -> None:
    s, task = running(5, governors=1)
    s.governors[0].fail(task, "first")
    answer = s.client.states(task)
    ((report,), _) = reports_of(answer)
    assert report.state is TaskState.READY
    (run,) = report.runs
    assert (run.number, run.governor) == (1, s.governors[0].address)
    assert (run.state, run.cause, run.message) == (RunState.FAILED, TASK, "first")


def test_only_both_ends_of_a_long_text_are_remembered() -> None:
    s, task = running(2, governors=1)
    s.governors[0].fail(task, "a" * REMEMBERED_TEXT + "the end")
    (run,) = s.world.task(task).runs
    assert len(run.message) < REMEMBERED_TEXT + 100
    assert run.message.endswith("the end")


def test_the_governor_of_a_failed_try_is_told_to_keep_nothing_of_it() -> None:
    # given: a task that reads what failed, and was sent ahead
    s = scene(2)
    task, (made,) = s.draft.task(tries=2)
    reader, _ = s.draft.task(made)
    s.submit()
    s.assign(task, reader)

    # when
    s.governors[0].fail(task)

    # then
    orders = s.governors[0].told[-1]
    assert orders.stop_ids == [reader]
    assert made in orders.drops
    assert not s.governors[0].held
    assert s.world.task(reader).row is TaskRow.PLANNED


def test_a_late_word_of_an_earlier_try_is_ignored() -> None:
    s, task = running(3, governors=1)
    s.governors[0].fail(task)
    s.assign(task)
    late = Update(failed=[TaskFailure(task, 1, "once more")])
    assert s.world.turn(GovernorUpdated(s.governors[0].id, late)) == []
    assert failed(s, task) == [(1, RunState.FAILED, TASK)]


def test_a_task_that_is_run_again_for_a_lost_output_has_all_its_tries_again() -> None:
    s = scene(1, 1)
    task, _ = s.draft.task(keep=True, tries=2)
    s.submit()
    s.assign(task)
    s.governors[0].fail(task)
    s.governors[1].finish(task)
    s.governors[1].leave()
    s.assign(task)
    s.governors[0].fail(task)
    assert s.world.task(task).row is TaskRow.READY


def test_a_failed_run_says_how_its_process_has_ended_and_what_it_has_printed_last() -> None:
    s, task = running(3, governors=1)
    s.governors[0].fail(task, "it was killed", EXECUTOR, status=-11, logs="a" * 5000 + "last words")
    s.assign(task)
    s.governors[0].fail(task, "it has ended", status=3)
    answer = s.client.states(task)
    killed, ended = reports_of(answer)[0][0].runs
    assert (killed.status, ended.status) == (-11, 3)
    assert killed.logs.endswith("last words")
    assert len(killed.logs) < 3000
    assert ended.logs == ""


def test_a_task_that_crashes_again_and_again_fails_with_the_last_crash() -> None:
    s, task = running(1, governors=1)
    wait = s.client.wait(s.draft.session, task)
    for number in range(3):
        s.assign(task) if number else None
        s.governors[0].fail(task, f"crash {number}", EXECUTOR, status=-11)
    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.message == "crash 2"
    assert [run.status for run in refusal.reason.runs] == [-11, -11, -11]


def test_what_is_not_worth_another_try_fails_at_once_whatever_tries_are_left() -> None:
    s, task = running(5)
    wait = s.client.wait(s.draft.session, task)
    s.governors[0].fail(task, "no such key", retryable=False)
    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.message == "no such key"
    assert [(run.number, run.retryable) for run in refusal.reason.runs] == [(1, False)]


def test_losing_a_governor_costs_no_try() -> None:
    s, task = running(1)
    s.governors[0].leave()
    node = s.world.task(task)
    assert node.row is TaskRow.READY
    assert failed(s, task) == [(1, RunState.LOST, GOVERNOR)]


def test_a_governor_that_leaves_on_purpose_was_not_killed_by_its_tasks() -> None:
    s, task = running(1)
    s.governors[0].leave(on_purpose=True)
    (run,) = s.world.task(task).runs
    assert (run.state, run.cause) == (RunState.LOST, LEFT)


def test_a_task_under_which_every_governor_is_lost_stops_at_the_limit() -> None:
    # given: a task that has killed two governors
    s = scene(1, 1, 1)
    task, _ = s.draft.task(tries=100)
    s.submit()
    wait = s.client.wait(s.draft.session, task)
    for number in range(2):
        s.assign(task, to=number)
        s.governors[number].start(task)
        s.governors[number].leave()

    # when: and the third
    s.assign(task, to=2)
    s.governors[2].start(task)
    s.governors[2].leave()

    # then
    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.task == task
    assert "running on 3 governors when they were lost" in refusal.reason.message
    assert "killed by the test" in refusal.reason.message
    assert [run.cause for run in refusal.reason.runs] == [GOVERNOR] * 3


def test_after_two_tasks_ran_together_twice_the_next_loss_shows_which_one_it_was() -> None:
    # given: two tasks that were both running when two governors were lost
    s = scene(2, 2, 2, 2)
    poison, _ = s.draft.task()
    neighbour, _ = s.draft.task()
    s.submit()
    for number in range(2):
        s.assign(poison, neighbour, to=number)
        s.governors[number].start(poison, neighbour)
        s.governors[number].leave()

    # when: both are planned on one governor again
    s.assign(poison, neighbour, to=2)

    # then: only one of them is sent, and the other when that one is done
    assert list(s.governors[2].tasks) == [poison]
    assert s.world.task(neighbour).row is TaskRow.QUEUED
    s.governors[2].finish(poison)
    assert list(s.governors[2].tasks) == [neighbour]


def test_a_task_may_have_killed_its_governor_before_its_start_was_told() -> None:
    s = scene(1)
    task, (made,) = s.draft.task()
    ahead, _ = s.draft.task(made)
    s.submit()
    s.assign(task, ahead)
    s.governors[0].leave()
    assert failed(s, task) == [(1, RunState.LOST, GOVERNOR)]
    assert failed(s, ahead) == []  # it cannot have begun


def test_no_task_that_was_not_told_to_run_is_blamed_for_a_lost_governor() -> None:
    s = scene(2)
    first, _ = s.draft.task()
    second, _ = s.draft.task()
    s.submit()
    s.assign(first, second)
    s.governors[0].leave()
    assert failed(s, first) == failed(s, second) == []


def test_a_governor_that_says_that_it_is_lost_itself_is_dismissed() -> None:
    s, task = running(1)
    s.governors[0].fail(task, "I am dead", GOVERNOR)
    assert len(s.world.dismissed) == 1
