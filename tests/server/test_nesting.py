"""Tasks that submit tasks: their sessions, and what they lend while they wait."""

from __future__ import annotations

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.base.wire.requests import JoinSession, OpenSession
from rain.base.wire.update import Update
from rain.server.core.messages import Answered, Asked, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft
from tests.support.world import World


def a_running_task(s: Scene) -> TaskId:
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    return task


def a_child(s: Scene, parent: TaskId) -> tuple[FakeClient, Draft, TaskId]:
    """The client of the task has submitted a task."""
    client = s.world.client()
    draft = client.session(parent=parent)
    child, _ = draft.task()
    client.submit(draft)
    return client, draft, child


def row(world: World, task: TaskId) -> TaskRow:
    return world.task(task).row


def test_a_task_of_a_task_is_one_deeper_and_its_governor_is_told() -> None:
    s = scene(2)
    parent = a_running_task(s)
    _, _, child = a_child(s, parent)
    s.world.turn()
    assert s.world.task(child).kind.depth == 1
    told = [(kind.depth, kind.root) for kind in s.governors[0].told[-1].task_kinds]
    assert told == [(1, s.draft.session)]


def test_a_governor_is_told_of_no_more_tasks_of_a_depth_than_of_others() -> None:
    # given: a governor that is told of three tasks at a time
    settings = ReactorSettings(overbooking=3, debug=True, governor_silence=1e9)
    s = scene(2, settings=settings)
    parent = a_running_task(s)
    # when
    client = s.world.client()
    draft = client.session(parent=parent)
    children = [draft.task()[0] for _ in range(5)]
    client.submit(draft)
    s.world.turn()
    # then
    rows = [row(s.world, child) for child in children]
    assert rows == [TaskRow.ASSIGNED] * 3 + [TaskRow.QUEUED] * 2


def test_what_a_task_adds_to_its_own_session_is_deeper_than_the_task() -> None:
    # given
    s = scene(2)
    parent = a_running_task(s)
    client = s.world.client()
    joined = client.join(s.draft.session, parent)
    draft = Draft(joined.session, joined.first)

    # when
    child, _ = draft.task()
    client.submit(draft)
    brother, _ = s.draft.task()
    s.submit()
    s.world.turn()

    # then
    assert [s.world.task(task).kind.depth for task in (parent, child, brother)] == [0, 1, 0]
    assert row(s.world, child) is TaskRow.ASSIGNED, "the server plans it, and no scheduler"
    heard = {task.id for news in s.scripted.heard for task in news.submitted}
    assert brother in heard
    assert child not in heard


def test_a_session_is_not_joined_for_a_task_that_does_not_run() -> None:
    s = scene(2)
    task, _ = s.draft.task()
    s.submit()
    client, request = s.world.client(), s.world.request()
    s.world.turn(Asked(client.id, request, JoinSession(s.draft.session, "", True, task)))
    refused = s.world.answers[request]
    assert isinstance(refused, Refuse)
    assert "it does not run" in str(refused.reason)


def test_the_children_of_children_belong_to_the_session_of_the_outermost_task() -> None:
    s = scene(4)
    parent = a_running_task(s)
    _, _, child = a_child(s, parent)
    s.world.turn()
    s.governors[0].start(child)
    _, _, grandchild = a_child(s, child)
    s.world.turn()
    kind = s.world.task(grandchild).kind
    assert (kind.depth, kind.root) == (2, s.draft.session)


def test_tasks_of_tasks_are_planned_without_the_scheduler() -> None:
    s = scene(2)
    parent = a_running_task(s)
    _, _, child = a_child(s, parent)
    s.world.turn()
    assert row(s.world, child) is TaskRow.ASSIGNED
    heard = {task.id for news in s.scripted.heard for task in (*news.submitted, *news.ready)}
    assert child not in heard


def test_a_task_that_waits_takes_no_cpus_until_it_goes_on() -> None:
    s = scene(2)
    parent = a_running_task(s)
    governor = s.governors[0]
    assert governor.node.active_cpus == 1
    governor.send(governor.waiting(parent))
    assert (row(s.world, parent), governor.node.active_cpus) == (TaskRow.BLOCKED, 0)
    governor.send(governor.resumed(parent))
    assert (row(s.world, parent), governor.node.active_cpus) == (TaskRow.RUNNING, 1)
    governor.finish(parent)
    assert governor.node.active_cpus == 0


def test_a_start_and_a_wait_may_be_told_together() -> None:
    s = scene(2)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    update = s.governors[0].waiting(task)
    started = s.governors[0].started(task)
    update.started_ids, update.started_runs = started.started_ids, started.started_runs
    s.governors[0].send(update)
    assert row(s.world, task) is TaskRow.BLOCKED


def test_a_governor_that_tells_that_an_unstarted_task_waits_is_dismissed() -> None:
    s = scene(2)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    governor = s.governors[0]
    governor.send(Update(blocked_ids=[task], blocked_runs=[governor.tasks[task]]))
    assert list(s.world.dismissed) == [governor.id]


@pytest.mark.parametrize("ending", ["finished", "failed", "cancelled"])
def test_what_a_task_has_submitted_ends_with_its_run(ending: str) -> None:
    # given: parent -> child -> grandchild, all at work
    s = scene(4, 4, on_failure=OnFailure.CONTINUE)
    parent = a_running_task(s)
    client, draft, child = a_child(s, parent)
    s.world.turn()
    (at,) = [governor for governor in s.governors if child in governor.tasks]
    at.start(child)
    _, _, grandchild = a_child(s, child)
    s.world.turn()
    waits = client.wait(draft.session, child)

    # when
    match ending:
        case "finished":
            s.governors[0].finish(parent)
        case "failed":
            s.governors[0].fail(parent)
        case _:
            s.client.cancel(s.draft.session, parent)
    s.world.turn()

    # then
    assert not any(s.world.state.graph.tasks.get(task) for task in (child, grandchild))
    assert isinstance(s.world.answers[waits], Refuse | Answered)
    assert list(s.world.state.graph.sessions) == [s.draft.session]
    assert not s.world.state.nested.of_runs


def test_a_session_of_a_task_that_does_not_run_is_refused() -> None:
    s = scene(2)
    task, _ = s.draft.task()
    s.submit()
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, OpenSession("early", "", parent=task)))
    refused = s.world.answers[request]
    assert isinstance(refused, Refuse)
    assert "it does not run" in str(refused.reason)
    assert len(s.world.state.graph.sessions) == 1


def test_tasks_that_wait_for_deeper_ones_are_not_in_their_way() -> None:
    # given: a governor that was told of as many tasks as it may be
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(200)]
    s.submit()
    s.assign(*tasks)
    governor = s.governors[0]
    told = len(governor.tasks)
    assert told < len(tasks)
    governor.start(tasks[0])
    governor.send(governor.waiting(tasks[0]))

    # when
    _, _, child = a_child(s, tasks[0])
    s.world.turn()

    # then
    assert child in governor.tasks


def a_family(s: Scene) -> tuple[TaskId, FakeClient, TaskId]:
    """A running task, its client, and the task that it has submitted, which runs."""
    parent = a_running_task(s)
    client, _, child = a_child(s, parent)
    s.world.turn()
    s.governors[0].start(child)
    return parent, client, child


def cancelled_alone(s: Scene, parent: TaskId) -> None:
    s.client.cancel(s.draft.session, parent, always=True, recursive=False)


def test_what_was_submitted_by_a_task_that_is_cancelled_alone_goes_on_to_its_end() -> None:
    # given
    s = scene(4, on_failure=OnFailure.CONTINUE)
    parent, client, child = a_family(s)

    # when: its executor is killed, and its client has gone with it
    cancelled_alone(s, parent)
    s.governors[0].end(parent)
    client.leave()

    # then
    assert row(s.world, parent) is TaskRow.CANCELLED
    assert row(s.world, child) is TaskRow.RUNNING
    s.governors[0].finish(child)
    s.world.turn()
    assert list(s.world.state.graph.sessions) == [s.draft.session]
    assert list(s.world.state.graph.clients) == [s.client.id]
    assert not s.world.state.nested.set_free


def test_what_goes_on_alone_may_submit_too_and_its_own_is_cancelled_with_it() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    parent, client, child = a_family(s)
    _, _, grandchild = a_child(s, child)
    cancelled_alone(s, parent)
    s.world.turn()
    assert grandchild in s.world.state.graph.tasks
    s.governors[0].finish(child)
    s.world.turn()
    assert list(s.world.state.graph.sessions) == [s.draft.session]
    client.leave()
    assert client.id not in s.world.state.graph.clients


def test_what_goes_on_alone_ends_with_the_session_that_it_is_for() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    parent, client, _ = a_family(s)
    cancelled_alone(s, parent)
    s.governors[0].end(parent)
    client.leave()
    s.client.close(s.draft.session)
    assert not s.world.state.graph.sessions
    assert list(s.world.state.graph.clients) == [s.client.id]


def test_a_task_that_is_cancelled_opens_no_sessions_any_more() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    parent = a_running_task(s)
    s.client.cancel(s.draft.session, parent, always=True)
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, OpenSession("late", "", parent=parent)))
    assert isinstance(s.world.answers[request], Refuse)


def test_the_client_that_cancels_says_how_long_a_task_may_clean_up() -> None:
    s = scene(4, on_failure=OnFailure.CONTINUE)
    parent = a_running_task(s)
    s.client.cancel(s.draft.session, parent, always=True, grace=0.25)
    assert s.governors[0].told[-1].cancelled.graces == [0.25]
