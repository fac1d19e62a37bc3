"""Tasks that hand the rest on to others, and stand in for these."""

from __future__ import annotations

import pytest

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.graph.standing_in import stands_in
from rain.server.core.messages import Answered, Refuse
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft


def begun(s: Scene, tries: int = 1) -> tuple[TaskId, ObjectId]:
    """A task that runs."""
    task, (made,) = s.draft.task(keep=True, tries=tries)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    return task, made


def rest(s: Scene, parent: TaskId) -> tuple[FakeClient, Draft, TaskId, ObjectId]:
    """What a running task has submitted, to hand on to it."""
    client = s.world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE, parent=parent)
    task, (made,) = draft.task(keep=True)
    client.submit(draft)
    s.world.turn()
    return client, draft, task, made


def row(s: Scene, task: TaskId) -> TaskRow:
    return s.world.task(task).row


def ends(s: Scene, task: TaskId, data: bytes) -> None:
    s.world.turn()
    (at,) = [one for one in s.governors if task in one.tasks]
    at.finish(task, data=data)


def test_the_result_of_a_task_is_that_of_the_one_that_it_hands_on_to() -> None:
    # given
    s = scene(1)
    task, made = begun(s)
    request = s.client.wait(s.draft.session, task)
    _, _, other, result = rest(s, task)

    # when
    s.governors[0].hand_on(task, result)

    # then
    assert row(s, other) is TaskRow.ASSIGNED, "the cpu of the first one is free"
    assert (stands_in(s.world.task(task)), s.world.task(task).cpus) == (True, 0)
    ends(s, other, b"the result")
    assert request not in s.world.answers
    ends(s, task, b"the result")
    answer = s.world.answers[request]
    assert isinstance(answer, Answered)
    assert s.world.object(made).data == b"the result"
    assert list(s.world.state.graph.sessions) == [s.draft.session], "nothing else is left"


def test_those_that_read_the_result_wait_for_it_also_where_they_were_sent_ahead() -> None:
    s = scene(4)
    task, (made,) = s.draft.task(keep=True)
    reader, _ = s.draft.task(made, keep=True)
    s.submit()
    s.assign(task, reader)
    assert row(s, reader) is TaskRow.AHEAD
    s.governors[0].start(task)
    _, _, other, result = rest(s, task)
    s.governors[0].hand_on(task, result)
    assert s.world.task(reader).last_run().number == 2, "it was called back, and sent anew"
    ends(s, other, b"1")
    ends(s, task, b"1")
    ends(s, reader, b"2")
    assert row(s, reader) is TaskRow.FINISHED


def test_those_that_read_the_result_do_not_read_that_of_the_other_task() -> None:
    s = scene(4)
    task, made = begun(s)
    reader, _ = s.draft.task(made, keep=True)
    s.submit()
    _, _, _, result = rest(s, task)
    s.governors[0].hand_on(task, result)
    assert not stands_in(s.world.task(reader))
    assert [one.id for one in s.world.task(reader).inputs] == [made]


def test_a_thousand_that_hand_on_leave_one_that_waits_for_the_last() -> None:
    # given
    s = scene(2)
    first, _ = begun(s)
    _, _, task, made = rest(s, first)
    s.governors[0].hand_on(first, made)

    # when
    for _ in range(1000):
        s.governors[0].start(task)
        _, _, next_one, result = rest(s, task)
        s.governors[0].hand_on(task, result)
        task, made = next_one, result
        s.world.turn()

    # then
    graph = s.world.state.graph
    assert len(graph.tasks) == 2
    assert len(graph.sessions) == 2
    assert [one.id for one in s.world.task(first).inputs] == [made]
    ends(s, task, b"in the end")
    ends(s, first, b"in the end")
    assert row(s, first) is TaskRow.FINISHED


@pytest.mark.parametrize("on_failure", OnFailure)
def test_a_task_that_hands_on_fails_with_the_message_of_the_other_task(
    on_failure: OnFailure,
) -> None:
    s = scene(2, on_failure=on_failure)
    task, _ = begun(s, tries=5)
    _, _, other, made = rest(s, task)
    request = s.client.wait(s.draft.session, task)
    s.governors[0].start(other)
    s.governors[0].hand_on(task, made)
    s.governors[0].fail(other, "the other broke")
    refused = s.world.answers[request]
    assert isinstance(refused, Refuse)
    assert isinstance(refused.reason, SessionFailure)
    assert (refused.reason.message, refused.reason.task) == ("the other broke", other)


def test_one_that_hands_on_to_what_has_failed_already_fails() -> None:
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, _ = begun(s)
    _, _, other, made = rest(s, task)
    s.governors[0].start(other)
    s.governors[0].fail(other, "the other broke")
    s.governors[0].hand_on(task, made)
    assert row(s, task) is TaskRow.SKIPPED


def test_cancelling_a_task_that_has_handed_on_cancels_the_other_task() -> None:
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, _ = begun(s)
    _, _, other, made = rest(s, task)
    s.governors[0].start(other)
    s.governors[0].hand_on(task, made)
    s.client.cancel(s.draft.session, task, always=True)
    s.world.turn()
    assert s.world.task(task).has_failed
    assert row(s, other) is TaskRow.CANCELLING


def test_a_task_that_has_handed_on_is_not_run_again_for_a_lost_result() -> None:
    # given
    s = scene(2, 2)
    task, _ = begun(s)
    _, _, other, result = rest(s, task)
    s.governors[0].hand_on(task, result)
    s.world.turn()
    (at,) = [one for one in s.governors if other in one.tasks]
    at.finish(other, size=1_000_000)
    s.world.turn()
    (at,) = [one for one in s.governors if task in one.tasks]
    at.finish(task, size=1_000_000)

    # when: all that has it is lost
    for governor in list(s.governors):
        if governor.held:
            governor.leave()
    s.governors[:] = [*s.world.governors, s.world.governor(2)]
    s.world.turn()

    # then
    assert stands_in(s.world.task(task))
    assert row(s, other) in {TaskRow.ASSIGNED, TaskRow.READY}
    assert row(s, task) is not TaskRow.FINISHED


def test_one_cannot_hand_on_to_what_needs_its_result() -> None:
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, made = begun(s)
    client = s.world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE, parent=task)
    _, (result,) = draft.task(made, keep=True)
    client.submit(draft)
    s.governors[0].hand_on(task, result)
    assert row(s, task) is TaskRow.FAILED
    failure = s.world.task(task).failure
    assert failure is not None
    assert failure.message == "the task passes on the result of a task that needs its own result"


def test_one_cannot_hand_on_to_what_is_not_there() -> None:
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, _ = begun(s)
    s.governors[0].hand_on(task, ObjectId(99))
    failure = s.world.task(task).failure
    assert failure is not None
    assert failure.message.endswith("which is not there any more")


def test_what_has_futures_inside_is_passed_on_with_them() -> None:
    s = scene(2, on_failure=OnFailure.CONTINUE)
    task, made = begun(s)
    client, draft, other, result = rest(s, task)
    inner, (inside,) = draft.task(keep=True)
    client.submit(draft)
    s.world.turn()
    s.governors[0].finish(inner, data=b"inside")
    s.governors[0].finish(other, data=b"refers", contents=[inside])
    s.governors[0].hand_on(task, result)
    ends(s, task, b"refers")
    graph = s.world.state.graph
    session = graph.sessions[s.draft.session]
    assert session.contents == {s.world.object(made): (s.world.object(inside),)}
