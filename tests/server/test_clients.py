"""Clients: their sessions, what they may see, and what remains when they leave."""

from __future__ import annotations

import pytest

from rain.base.ids import ClientId, GovernorId, ObjectId, TaskId, pack
from rain.base.runs import RunReport, RunState
from rain.base.states import ObjectState, TaskState
from rain.base.wire.answers import ObjectReport, TaskReport
from rain.base.wire.orders import Orders
from rain.base.wire.requests import CloseSession
from rain.base.wire.update import TaskNote
from rain.server.core.messages import Asked, ClientLeft, Granted, OrderGovernor, Refuse
from tests.support.fake_client import FakeClient, reports_of
from tests.support.scenes import scene
from tests.support.world import new_world


def test_when_a_client_leaves_nothing_of_its_sessions_remains() -> None:
    # given: a client with two sessions: a running task, a kept result, a wait
    s = scene(2)
    second = s.client.session()
    done, (a,) = s.draft.task(keep=True)
    running, _ = second.task()
    s.submit()
    s.client.submit(second)
    s.run(done)
    s.assign(running)
    s.client.wait(second.session, running)
    assert a in s.governors[0].held

    # when
    s.client.leave()

    # then
    state = s.world.state
    assert not state.graph.clients
    assert not state.graph.sessions
    assert not state.graph.tasks
    assert not state.graph.objects
    assert not state.waits
    assert s.node(0).active_cpus == 0
    fake = s.governors[0]
    assert not fake.tasks
    assert not fake.held
    assert not fake.kinds


def test_the_orders_of_a_leaving_client_name_each_session_once() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    effects = s.world.turn(ClientLeft(s.client.id, "gone"))
    forget = Orders(forget_sessions=[s.draft.session])
    assert effects == [OrderGovernor(GovernorId(1), forget)]


def test_other_clients_go_on() -> None:
    # given
    s = scene(2)
    other = s.world.client()
    draft = other.session()
    task, _ = draft.task()
    other.submit(draft)
    s.assign(task)

    # when
    s.client.leave()

    # then
    s.governors[0].finish(task)
    assert s.world.task(task).state is TaskState.FINISHED


def test_closing_a_session_stops_its_work_and_answers_who_waits() -> None:
    # given
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    wait = s.client.wait(s.draft.session, task)
    close = s.world.request()

    # when
    effects = s.world.turn(Asked(s.client.id, close, CloseSession(s.draft.session)))

    # then
    refusal = s.world.answers[wait]
    assert isinstance(refusal, Refuse)
    assert "the session was closed" in str(refusal.reason)
    forget = Orders(forget_sessions=[s.draft.session])
    assert effects == [OrderGovernor(GovernorId(1), forget), refusal, Granted(close)]


def test_an_idle_session_is_closed_without_telling_governors() -> None:
    s = scene(1)
    close = s.world.request()
    effects = s.world.turn(Asked(s.client.id, close, CloseSession(s.draft.session)))
    assert effects == [Granted(close)]


def test_session_ids_are_never_used_again() -> None:
    world = new_world()
    client = world.client()
    first = client.session()
    client.close(first.session)
    assert client.session().session == first.session + 1


@pytest.mark.parametrize("call", ["wait", "fetch", "unkeep", "states", "close", "submit"])
def test_what_belongs_to_another_client_cannot_be_reached(call: str) -> None:
    # given: a finished kept object of somebody else
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    stranger: FakeClient = s.world.client()
    session = s.draft.session

    # when
    match call:
        case "wait":
            answer = s.world.answers[stranger.wait(session, task)]
        case "fetch":
            answer = s.world.answers[stranger.fetch(a)]
        case "unkeep":
            answer = stranger.unkeep(a)
        case "states":
            answer = stranger.states(task)
        case "close":
            answer = stranger.close(session)
        case _:
            answer = stranger.submit(s.draft)

    # then
    assert isinstance(answer, Refuse)
    assert answer.reason == "the session 1 is not open, or it is another client's"
    assert s.world.object(a).kept


def test_states_are_told_as_they_stand() -> None:
    # given: a finished task that said something about itself, and one that is not planned
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    waiting, (b,) = s.draft.task(a, keep=True)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    update = s.governors[0].finished(task, size=7)
    update.task_notes.append(TaskNote(task, '{"user": 1}', "lines"))
    s.governors[0].send(update)

    # when
    answer = s.client.states(task, waiting, objects=(a, b))

    # then
    assert reports_of(answer)[0] == (
        TaskReport(
            task,
            TaskState.FINISHED,
            debug="lines",
            user='{"user": 1}',
            runs=(
                RunReport(
                    1,
                    s.governors[0].address,
                    RunState.FINISHED,
                    debug="lines",
                    told_time="1970-01-01T00:16:45+00:00",
                    start_time="1970-01-01T00:16:46+00:00",
                    duration=0.5,
                ),
            ),
        ),
        TaskReport(waiting, TaskState.READY),
    )
    assert reports_of(answer)[1] == (
        ObjectReport(a, ObjectState.FINISHED, 7, label="blob"),
        ObjectReport(b, ObjectState.UNFINISHED, label="blob"),
    )


def test_states_of_what_is_unknown_are_refused() -> None:
    s = scene(1)
    unknown = pack(s.draft.session, 55)
    assert isinstance(s.client.states(TaskId(unknown)), Refuse)
    assert isinstance(s.client.states(objects=(ObjectId(unknown),)), Refuse)


def test_a_client_that_only_looks_is_forgotten_when_it_leaves() -> None:
    world = new_world()
    world.client().leave()
    assert ClientId(1) not in world.state.graph.clients
