"""A program that is interrupted while it waits no longer wants what it waited for."""

from __future__ import annotations

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.server.core.messages import Answered, Refuse
from tests.support.fake_client import answer_of
from tests.support.scenes import Scene, scene


def rows(s: Scene, *tasks: TaskId) -> list[TaskRow]:
    return [s.world.task(task).row for task in tasks]


def test_what_was_waited_for_ends_with_what_only_it_needs() -> None:
    # given: first -> second, and a task apart
    s = scene(4, on_failure=OnFailure.CONTINUE)
    first, (a,) = s.draft.task()
    second, _ = s.draft.task(a)
    apart, _ = s.draft.task()
    s.submit()
    s.assign(first, apart)
    s.governors[0].start(first)

    # when
    s.client.cancel(s.draft.session, second)

    # then
    assert rows(s, first, second, apart) == [
        TaskRow.CANCELLING,
        TaskRow.CANCELLED,
        TaskRow.ASSIGNED,
    ]
    assert first in s.governors[0].told[-1].cancelled.ids
    refused = s.world.answers[s.client.wait(s.draft.session, second)]
    assert isinstance(refused, Refuse)
    assert "cancelled" in str(refused.reason)


def test_what_others_need_or_somebody_keeps_stays() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    shared, (a,) = s.draft.task()
    kept, (b,) = s.draft.task(keep=True)
    wanted, _ = s.draft.task(a, b)
    other, _ = s.draft.task(a)
    s.submit()
    s.client.cancel(s.draft.session, wanted)
    assert rows(s, shared, kept, other) == [TaskRow.READY, TaskRow.READY, TaskRow.WAITING]
    assert s.world.task(wanted).has_failed


def test_a_whole_session_is_cancelled_and_its_next_tasks_run() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    old = [s.draft.task()[0] for _ in range(3)]
    s.submit()
    s.assign(old[0])
    s.client.cancel(s.draft.session, whole=True)

    new, _ = s.draft.task()
    s.submit()
    waits = s.client.wait(s.draft.session, mode="session")
    s.run(new)

    assert all(s.world.task(task).has_failed for task in old)
    assert isinstance(s.world.answers[waits], Answered)


def test_what_was_computed_is_cancelled_in_a_session_that_stops_too() -> None:
    s = scene(1)
    submitted, _ = s.draft.task()
    s.submit()
    _, (wanted,) = s.draft.task()
    request = s.client.compute(s.draft, wanted)
    s.client.abandon(request)
    s.client.cancel(s.draft.session, submitted, objects=(wanted,))
    assert rows(s, submitted) == [TaskRow.READY]
    assert s.world.object(wanted).has_failed
    assert s.world.state.graph.sessions[s.draft.session].failure is None


@pytest.mark.parametrize("whole", [True, False])
def test_nothing_is_cancelled_while_somebody_else_waits(whole: bool) -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    s.client.wait(s.draft.session, task)
    s.client.cancel(s.draft.session, task, whole=whole)
    assert rows(s, task) == [TaskRow.READY]


def test_a_client_that_has_only_joined_a_session_cancels_nothing() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    guest = s.world.client()
    guest.join(s.draft.session)
    guest.cancel(s.draft.session, task)
    assert rows(s, task) == [TaskRow.READY]


def test_what_is_done_or_unknown_or_gone_is_not_cancelled() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, _ = s.draft.task()
    s.submit()
    s.run(task)
    s.client.cancel(s.draft.session, task, TaskId(12345))
    assert rows(s, task) == [TaskRow.FINISHED]
    session = s.draft.session
    s.client.close(session)
    s.client.cancel(session, task, whole=True)


def cancelled(s: Scene, *objects: ObjectId) -> tuple[ObjectId, ...]:
    answer = s.client.cancel_unstarted(s.draft.session, *objects)
    cancelled: tuple[ObjectId, ...] = answer_of(answer, tuple)
    return cancelled


def test_cancelling_what_has_not_started_leaves_running_tasks_alone() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    running, (a,) = s.draft.task()
    told, (b,) = s.draft.task()
    ready, (c,) = s.draft.task()
    waiting, (d,) = s.draft.task(a, keep=True)
    done, (e,) = s.draft.task(keep=True)
    s.submit()
    s.run(done)
    s.assign(running, told)
    s.governors[0].start(running)

    assert cancelled(s, a, b, c, d, e) == (b, c, d)

    assert rows(s, running, told) == [TaskRow.RUNNING, TaskRow.CANCELLING]
    assert rows(s, ready, waiting) == [TaskRow.CANCELLED, TaskRow.CANCELLED]
    assert rows(s, done) == [TaskRow.FINISHED]
    assert s.governors[0].told[-1].cancelled.ids == [told]


def test_what_was_cancelled_before_it_started_is_cancelled_once() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    _, (a,) = s.draft.task()
    s.submit()
    assert cancelled(s, a, a, ObjectId(12345)) == (a, a)
    assert cancelled(s, a) == ()


def test_in_a_session_that_stops_nothing_is_cancelled_before_it_starts() -> None:
    s = scene(1)
    task, (a,) = s.draft.task()
    s.submit()
    assert cancelled(s, a) == ()
    assert rows(s, task) == [TaskRow.READY]


def test_only_the_client_that_has_opened_a_session_cancels_what_has_not_started() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    task, (a,) = s.draft.task()
    s.submit()
    guest = s.world.client()
    guest.join(s.draft.session)
    assert isinstance(guest.cancel_unstarted(s.draft.session, a), Refuse)
    assert rows(s, task) == [TaskRow.READY]
