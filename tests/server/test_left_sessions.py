"""What outlives its session or its client, because others have futures of it."""

from __future__ import annotations

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import ObjectState, TaskRow
from rain.server.core.messages import Answered, Granted, Refuse
from tests.server.going_on import finished, goes_on, nodes, settle, states
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft


def end_cancelled(s: Scene) -> None:
    """What runs and was cancelled has ended."""
    for governor in s.governors:
        rows = {task: s.world.task(task).row for task in governor.tasks}
        governor.end(*[task for task, row in rows.items() if row is TaskRow.CANCELLING])
    settle(s)


def a_running_task(s: Scene) -> tuple[TaskId, ObjectId]:
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    return task, made


def a_child(s: Scene, parent: TaskId) -> tuple[FakeClient, Draft, TaskId, ObjectId]:
    """The client of the task has submitted a task, and something else that nobody will need."""
    client = s.world.client()
    draft = client.session(on_failure=OnFailure.CONTINUE, parent=parent)
    child, (made,) = draft.task(keep=True)
    draft.task(cpus=0, keep=True)
    client.submit(draft)
    return client, draft, child, made


def test_what_a_task_returns_outlives_the_session_of_its_run() -> None:
    s = goes_on(1, 1)
    parent, result = a_running_task(s)
    _, draft, child, made = a_child(s, parent)
    s.governors[0].finish(parent, data=b"a future", contents=[made])
    end_cancelled(s)
    session = s.world.state.graph.sessions[draft.session]
    assert session.is_left
    assert list(session.tasks) == [child], "what nobody needs was cancelled"

    answer = s.client.take(made, keep=True)
    assert isinstance(answer, Granted)
    s.client.drop(parent, objects=(result,))
    waits = s.client.wait(draft.session, objects=(made,))
    (governor,) = [one for one in s.governors if child in one.tasks]
    governor.finish(child, data=b"of the child")
    assert isinstance(s.world.answers[waits], Answered)
    assert isinstance(s.world.answers[s.client.fetch(made)], Answered)

    s.client.drop(objects=(made,))
    settle(s)
    assert draft.session not in s.world.state.graph.sessions
    assert not s.world.state.left
    assert not any(one.kinds.keys() & {child} or one.held for one in s.governors)


def test_a_task_reads_what_is_of_a_session_that_was_left() -> None:
    s = goes_on(1, 1)
    parent, _ = a_running_task(s)
    _, _, child, made = a_child(s, parent)
    s.governors[0].finish(parent, data=b"a future", contents=[made])
    end_cancelled(s)
    s.client.take(made, keep=True)
    reader, (read,) = s.draft.task(made, keep=True)
    assert isinstance(s.client.submit(s.draft), Granted)
    s.client.drop(objects=(made,))
    (governor,) = [one for one in s.governors if child in one.tasks]
    governor.finish(child)
    s.run(reader)
    settle(s)
    assert states(s, made, read) == ["finished", "finished"], "its container claims it"
    s.client.close(s.draft.session)
    settle(s)
    assert s.world.state.graph.sessions == {}


def test_a_session_whose_tasks_read_others_lets_go_of_that() -> None:
    s = goes_on(1)
    _, inside = finished(s)
    other = s.world.client()
    draft = other.session(on_failure=OnFailure.CONTINUE)
    other.take(inside, keep=True)
    reader, _ = draft.task(inside)
    holder, _ = draft.task()
    draft.contain(holder, inside)
    box = draft.constant(keep=True)
    draft.contain(box, inside)
    assert isinstance(other.submit(draft), Granted)
    assert s.world.object(inside).needed_by == 3
    assert s.world.task(reader).missing == 0
    other.close(draft.session)
    settle(s)
    assert s.world.object(inside).needed_by == 0
    assert s.world.object(inside).consumers in ((), [])


def test_what_another_client_has_outlives_its_own() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    other = s.world.client()
    assert isinstance(other.take(inside, keep=True), Granted)
    s.client.leave()
    settle(s)
    assert states(s, inside) == ["finished"]
    assert isinstance(s.world.answers[other.fetch(inside)], Answered)
    s.governors[0].leave()
    s.world.governor()
    assert s.world.task(task).row is not TaskRow.FINISHED, "and it is made again when it is lost"
    other.leave()
    settle(s)
    assert s.world.state.graph.sessions == {}


def test_a_client_that_dies_lets_go_of_what_it_has() -> None:
    s = goes_on(1)
    task, inside = finished(s)
    other = s.world.client()
    other.take(inside, keep=True)
    s.client.drop(task, objects=(inside,))
    settle(s)
    assert states(s, inside) == ["finished"]
    other.leave()
    settle(s)
    assert nodes(s) == (0, 0)


def test_a_client_that_has_a_future_may_cancel_it() -> None:
    s = goes_on(1)
    task, (made,) = s.draft.task(keep=True)
    other_task, (other_made,) = s.draft.task(keep=True)
    s.submit()
    guest = s.world.client()
    guest.take(made, keep=True)
    guest.cancel(s.draft.session, objects=(made, other_made), always=True)
    guest.cancel(s.draft.session, whole=True, always=True)
    assert s.world.task(task).row is TaskRow.READY, "not what it does not have"
    guest.cancel(s.draft.session, objects=(made,), always=True)
    assert s.world.object(made).state is ObjectState.FAILED
    assert s.world.task(other_task).row is TaskRow.READY


def test_a_session_that_ends_with_its_first_failure_keeps_its_objects_to_itself() -> None:
    s = scene(1)
    _, inside = finished(s)
    other = s.world.client()
    assert isinstance(other.take(inside, keep=True), Refuse)
    draft = other.session(on_failure=OnFailure.CONTINUE)
    box = draft.constant(keep=True)
    draft.contain(box, inside)
    other.submit(draft)
    assert s.world.object(inside).needed_by == 0


def test_nothing_is_added_to_a_session_that_was_left() -> None:
    s = goes_on(1)
    _, inside = finished(s)
    other = s.world.client()
    other.take(inside, keep=True)
    s.client.close(s.draft.session)
    s.draft.task()
    assert isinstance(other.submit(s.draft), Refuse)
    with pytest.raises(AssertionError):
        other.join(s.draft.session)


def test_a_thousand_futures_that_are_dropped_leave_nothing() -> None:
    """Here in rounds of two hundred, each with its containers; the nodes are counted."""
    s = goes_on(16)
    function = s.draft.constant(keep=True)
    s.submit()
    for _ in range(5):
        tasks, objects = zip(*[s.draft.task(function, keep=True) for _ in range(100)], strict=True)
        results = tuple(made for (made,) in objects)
        holders, boxes = zip(*[s.draft.task(function, keep=True) for _ in range(100)], strict=True)
        for holder, result in zip(holders, results, strict=True):
            s.draft.contain(holder, result)
        s.submit()
        s.assign(*tasks, *holders)
        s.governors[0].finish(*tasks, data=b"small")
        s.governors[0].finish(*holders, data=b"small", contents=results[:3])
        s.client.drop(*tasks, objects=results)
        settle(s)
        assert nodes(s) == (103, 104), "three futures are inside of all hundred results"
        s.client.drop(*holders, objects=tuple(made for (made,) in boxes))
        settle(s)
        assert nodes(s) == (0, 1)
        session = s.world.object(function).session
        assert (session.contents, session.shared) == ({}, {})
