"""A session fails with its first failing task: once, completely, and alone."""

from __future__ import annotations

from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, TaskId, spell
from rain.base.moments import rfc3339
from rain.base.states import TaskState
from rain.base.wire.orders import Orders
from rain.base.wire.requests import Fetch, ReportsOf, Submit, Unkeep, WaitFor
from rain.base.wire.update import TaskFailure, Update
from rain.server.core.messages import Asked, Effect, GovernorUpdated, Granted, OrderGovernor, Refuse
from tests.support.scenes import Scene, scene

WHY = "Traceback of the user"


def told(s: Scene) -> SessionFailure:
    """Why the session has failed."""
    failure = s.world.state.graph.sessions[s.draft.session].failure
    assert failure is not None
    return failure


def failing() -> tuple[Scene, TaskId]:
    """A session with a running task that is about to fail, and one that waits for it."""
    s = scene(2, 1)
    task, (a,) = s.draft.task(keep=True)
    other, _ = s.draft.task(cpus=0)
    s.draft.task(a)
    s.submit()
    s.assign(task, other)
    return s, task


def test_the_first_failing_task_fails_its_session_and_those_who_wait_are_told() -> None:
    # given: a wait for the task, one for its object, and one for the session
    s, task = failing()
    (a,) = (output.id for output in s.world.task(task).outputs)
    waits = [
        s.client.wait(s.draft.session, task),
        s.client.fetch(a),
        s.client.wait(s.draft.session, mode="session"),
    ]

    # when
    effects = s.governors[0].fail(task, WHY)

    # then: everybody gets the failure, and the governor is told once to forget all
    failure = told(s)
    assert (failure.message, failure.task) == (WHY, task)
    expected: list[Effect] = [Refuse(request, failure) for request in waits]
    forget = OrderGovernor(GovernorId(1), Orders(forget_sessions=[s.draft.session]))
    assert effects == [forget, *expected]
    assert not s.world.state.waits
    assert not s.governors[0].tasks
    assert not s.governors[0].kinds


def test_nothing_of_the_graph_of_a_failed_session_remains() -> None:
    s, task = failing()
    s.governors[0].fail(task)
    graph = s.world.state.graph
    assert not graph.tasks
    assert not graph.objects
    assert s.node(0).active_cpus == 0
    assert not s.node(0).scheduled
    assert not s.node(0).kinds_told
    assert [session.id for session in s.scripted.heard[-1].cleared] == [s.draft.session]


def test_governors_that_never_heard_of_the_session_are_not_told_of_its_end() -> None:
    s, task = failing()
    s.governors[0].fail(task)
    assert s.governors[1].told == []


def test_every_later_call_gets_the_same_failure() -> None:
    # given
    s, task = failing()
    (a,) = (output.id for output in s.world.task(task).outputs)
    s.governors[0].fail(task, WHY)
    s.draft.task()
    client, session, request = s.client.id, s.draft.session, s.world.request

    # when / then
    for event in (
        Asked(client, request(), Submit(s.draft.take())),
        Asked(client, request(), WaitFor(session, (task,), (), "all")),
        Asked(client, request(), WaitFor(session, (), (), "session")),
        Asked(client, request(), Fetch(a)),
        Asked(client, request(), Unkeep((a,))),
        Asked(client, request(), ReportsOf((task,), ())),
    ):
        effects = s.world.turn(event)
        assert effects == [Refuse(event.request, told(s))]


def test_a_failed_session_can_still_be_closed() -> None:
    s, task = failing()
    s.governors[0].fail(task)
    assert isinstance(s.client.close(s.draft.session), Granted)
    assert not s.world.state.graph.sessions
    # and then it is gone
    refusal = s.client.close(s.draft.session)
    assert isinstance(refusal, Refuse)
    assert refusal.reason == "the session 1 is not open, or it is another client's"


def test_other_sessions_go_on() -> None:
    # given: another session of the same client with a running task on the same governor
    s, task = failing()
    other = s.client.session()
    healthy, _ = other.task()
    s.client.submit(other)
    s.assign(healthy)

    # when
    s.governors[0].fail(task)

    # then
    assert s.governors[0].tasks == {healthy: 1}
    s.governors[0].finish(healthy)
    assert s.world.task(healthy).state is TaskState.FINISHED


def test_a_second_failure_of_the_same_update_changes_nothing() -> None:
    # given: two tasks that fail in one update
    s = scene(2)
    first, _ = s.draft.task()
    second, _ = s.draft.task()
    s.submit()
    s.assign(first, second)
    update = Update(failed=[TaskFailure(first, 1, "first", "lines"), TaskFailure(second, 1, "2")])

    # when
    effects = s.world.turn(GovernorUpdated(GovernorId(1), update))

    # then
    forget = Orders(forget_sessions=[s.draft.session])
    assert effects == [OrderGovernor(GovernorId(1), forget)]
    failure = told(s)
    assert (failure.message, failure.debug, failure.task) == ("first", "lines", first)


def test_late_news_of_a_failed_session_is_ignored() -> None:
    # given: a task that finished just when another one failed elsewhere
    s = scene(1, 1)
    fails, _ = s.draft.task()
    finishes, _ = s.draft.task(keep=True)
    s.submit()
    s.assign(fails, to=0)
    s.assign(finishes, to=1)
    late = s.governors[1].finished(finishes)
    s.governors[0].fail(fails)

    # when
    effects = s.governors[1].send(late)

    # then
    assert effects == []
    assert s.world.state.ignored == 1
    assert not s.governors[1].held


def test_a_task_that_finished_before_the_failure_of_the_same_update_counts_for_nothing() -> None:
    s = scene(2)
    good, (a,) = s.draft.task(keep=True)
    bad, _ = s.draft.task()
    s.submit()
    s.assign(good, bad)
    update = s.governors[0].finished(good)
    update.failed.append(TaskFailure(bad, 1, WHY))
    s.governors[0].send(update)
    refusal = s.world.answers[s.client.fetch(a)]
    assert isinstance(refusal, Refuse)
    assert isinstance(refusal.reason, SessionFailure)
    assert refusal.reason.task == bad
    assert spell(bad) == "1/14"


def test_the_failure_tells_where_and_how_long_the_task_ran() -> None:
    s, task = failing()
    s.governors[0].start(task)
    started = s.world.now
    s.world.now += 4.0
    s.governors[0].fail(task, WHY)

    (run,) = told(s).runs
    assert run.governor == s.governors[0].address
    assert run.start_time == rfc3339(started)
    assert run.duration == 5.0
