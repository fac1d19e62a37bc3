"""What is cancelled while a governor has it: one outcome, whatever that governor says next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.errors import PlanError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.update import Update
from rain.server.core.messages import Refuse
from tests.support.fake_client import answer_of, reports_of
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, scene


def row(s: Scene, task: TaskId) -> TaskRow:
    return s.world.task(task).row


def running(s: Scene, *inputs: ObjectId, tries: int = 1) -> tuple[TaskId, ObjectId]:
    """A task that has started on the first governor, and what it makes, which is kept."""
    task, (made,) = s.draft.task(*inputs, tries=tries, keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    return task, made


def cancelled(s: Scene, *tasks: TaskId) -> None:
    s.client.cancel(s.draft.session, *tasks, always=True)


def test_its_cpus_are_taken_until_its_governor_says_that_it_has_ended() -> None:
    # given
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, made = running(s)
    waits = s.client.wait(s.draft.session, task)

    # when / then: who waits is told at once
    cancelled(s, task)
    assert row(s, task) is TaskRow.CANCELLING
    assert s.world.task(task).state is TaskState.CANCELLED
    refused = s.world.answers[waits]
    assert isinstance(refused, Refuse)
    assert not isinstance(refused.reason, str)
    assert refused.reason.cancelled
    assert s.world.object(made).state is ObjectState.FAILED
    assert s.node(0).active_cpus == 1
    orders = s.governors[0].told[-1].cancelled
    assert (orders.ids, orders.runs, orders.graces) == ([task], [1], [OWN_GRACE])

    # and when
    s.governors[0].end(task)
    assert row(s, task) is TaskRow.CANCELLED
    assert s.node(0).active_cpus == 0
    run = s.world.task(task).last_run()
    assert (run.state, run.cause) == (RunState.WITHDRAWN, RunCause.CANCELLED)


def test_it_is_forgotten_with_its_governor_when_no_client_has_it() -> None:
    # given
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, made = running(s)
    cancelled(s, task)
    s.client.drop(task, objects=(made,))
    assert row(s, task) is TaskRow.CANCELLING
    # when
    s.governors[0].leave()
    s.world.turn()
    # then
    assert task not in s.world.state.graph.tasks


@pytest.mark.parametrize("stands", ["ahead", "assigned", "running", "blocked"])
def test_wherever_it_stands_it_takes_its_cpus_and_gives_them_back(stands: str) -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    first, (a,) = s.draft.task()
    task, _ = s.draft.task(a) if stands == "ahead" else s.draft.task()
    s.submit()
    s.assign(first, task)
    if stands in {"running", "blocked"}:
        s.governors[0].start(task)
    if stands == "blocked":
        s.governors[0].send(s.governors[0].waiting(task))
    assert row(s, task).value == stands
    cancelled(s, task)
    assert row(s, task) is TaskRow.CANCELLING
    assert s.node(0).active_cpus == 2
    s.governors[0].end(task)
    assert row(s, task) is TaskRow.CANCELLED
    assert s.node(0).active_cpus == 1


ENDS: dict[str, Callable[[FakeGovernor, TaskId, Update], object]] = {
    "it finished before": lambda governor, _, finished: governor.send(finished),
    "its governor is lost": lambda governor, _, __: governor.leave(),
    "its governor leaves": lambda governor, _, __: governor.leave(on_purpose=True),
    "it ends": lambda governor, task, _: governor.end(task),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_whatever_is_told_next_it_was_cancelled(
    end: Callable[[FakeGovernor, TaskId, Update], object],
) -> None:
    # given: a task that has another try, and a report of its end that is under way
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    task, made = running(s, tries=3)
    governor = s.governors[0]
    finished = Update()
    finished.finished.ids, finished.finished.runs = [task], [1]
    finished.finished.durations, finished.finished.output_counts = [0.5], [1]
    finished.finished.sizes, finished.finished.data = [3], [b"abc"]

    # when
    cancelled(s, task)
    end(governor, task, finished)
    s.world.turn()

    # then
    assert row(s, task) is TaskRow.CANCELLED
    assert s.world.object(made).state is ObjectState.FAILED
    assert s.world.state.graph.sessions[s.draft.session].failure is None
    assert not any(one.tasks for one in s.governors[1:])


@pytest.mark.parametrize("cause", [RunCause.TASK, RunCause.EXECUTOR, RunCause.NOT_STARTED])
def test_a_failure_that_was_under_way_gives_it_no_other_try(cause: RunCause) -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = running(s, tries=3)
    failed = s.governors[0].failed(task, "it broke", cause)
    cancelled(s, task)
    s.governors[0].send(failed)
    assert row(s, task) is TaskRow.CANCELLED
    assert not s.node(0).rests


def test_what_waits_for_another_try_is_never_tried_again() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = running(s, tries=3)
    s.governors[0].fail(task)
    assert row(s, task) is TaskRow.READY
    cancelled(s, task)
    assert row(s, task) is TaskRow.CANCELLED


def test_news_of_its_start_and_its_waits_come_too_late() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    cancelled(s, task)
    s.governors[0].send(
        Update(started_ids=[task], started_runs=[1], blocked_ids=[task], blocked_runs=[1])
    )
    s.governors[0].send(Update(resumed_ids=[task], resumed_runs=[1]))
    assert row(s, task) is TaskRow.CANCELLING
    assert not s.world.dismissed


def test_an_end_that_nobody_asked_for_is_a_mistake_of_its_governor() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = running(s)
    s.governors[0].send(Update(ended_ids=[task], ended_runs=[1]))
    assert s.world.dismissed


def test_what_depends_on_it_is_cancelled_with_it_and_new_tasks_too() -> None:
    # given
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, made = running(s)
    follower, (b,) = s.draft.task(made)
    last, _ = s.draft.task(b)
    s.submit()
    s.assign(follower)

    # when
    cancelled(s, task)

    # then
    assert [row(s, one) for one in (follower, last)] == [TaskRow.CANCELLING, TaskRow.CANCELLED]
    late, _ = s.draft.task(made)
    s.submit()
    assert row(s, late) is TaskRow.CANCELLED
    asked = s.client.states(task, follower, last, late)
    assert {report.state for report in reports_of(asked)[0]} == {TaskState.CANCELLED}
    done = s.client.wait(s.draft.session, last, late, mode="some")
    answer = s.world.answers[done]
    told = answer_of(answer, WaitAnswer)
    assert told.cancelled == told.failed == [last, late]


def test_what_was_cancelled_is_not_made_again_when_a_sibling_is_lost() -> None:
    # given: two outputs; one is lost, so that the task runs again, and is cancelled then
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    task, (a, b) = s.draft.task(outputs=2, keep=True)
    s.submit()
    s.run(task)
    s.copied(b, to=1)
    s.governors.append(s.world.governor(1))
    s.governors[0].leave()
    assert row(s, task) is TaskRow.READY
    s.assign(task, to=2)
    cancelled(s, task)
    s.governors[2].end(task)
    assert [s.world.object(one).state for one in (a, b)] == [
        ObjectState.FAILED,
        ObjectState.FINISHED,
    ]

    # when: the last copy of the other one goes
    s.governors[1].leave()

    # then
    assert row(s, task) is TaskRow.CANCELLED
    assert s.world.object(b).state is ObjectState.FAILED


def test_the_scheduler_cannot_take_it_back() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = running(s)
    cancelled(s, task)
    with pytest.raises(PlanError, match="cannot be taken back: it will end there"):
        s.take_back(task)


def test_it_stays_known_until_it_has_ended_and_goes_then() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, made = running(s)
    cancelled(s, task)
    s.client.drop(task, objects=(made,))
    assert task in s.world.state.graph.tasks
    s.governors[0].end(task)
    s.world.turn()
    assert task not in s.world.state.graph.tasks
    assert made not in s.world.state.graph.objects


def test_a_session_that_closes_meanwhile_takes_it_along() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = running(s)
    cancelled(s, task)
    s.client.close(s.draft.session)
    assert s.node(0).active_cpus == 0
    assert s.draft.session in s.governors[0].told[-1].forget_sessions


def test_a_governor_that_was_lost_with_it_is_not_held_against_a_neighbour() -> None:
    # given: only one other task was sent there, and nobody said that it runs
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, _ = running(s)
    cancelled(s, task)

    # when
    s.governors[0].leave()

    # then
    run = s.world.task(task).last_run()
    assert (run.state, run.cause) == (RunState.LOST, RunCause.GOVERNOR_LEFT)
