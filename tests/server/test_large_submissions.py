"""A large submission is read in several turns; everybody else is heard in between."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, RequestId
from rain.base.states import TaskState
from rain.base.wire.requests import OpenSession, ReportsOf, Submit, Unkeep, WaitFor
from rain.base.wire.update import Update
from rain.server.core.messages import (
    Answered,
    Asked,
    GovernorUpdated,
    Granted,
    Refuse,
    TurnInput,
)
from rain.server.core.reactor_settings import ReactorSettings
from tests.server.test_memory import nodes_alive
from tests.support.fake_client import reports_of
from tests.support.scenes import Scene, scene
from tests.support.snapshot import snapshot
from tests.support.submissions import Draft

PART = 10


def in_parts() -> Scene:
    settings = ReactorSettings(grown_at_once=PART, debug=True, governor_silence=1e9)
    return scene(1, settings=settings)


def begin(s: Scene, draft: Draft) -> RequestId:
    """Submits without waiting for the answer."""
    request = s.world.request()
    s.world.turn(Asked(s.client.id, request, Submit(draft.fill(draft.take()))))
    return request


def turns_until(s: Scene, request: RequestId) -> int:
    turns = 0
    while request not in s.world.answers:
        s.world.turn()
        turns += 1
        assert turns < 100
    return turns


def test_a_turn_reads_a_limited_number_of_tasks_or_inputs_and_the_next_one_is_due_at_once() -> None:
    # given: the last task reads what all others make
    s = in_parts()
    made = [s.draft.task()[1][0] for _ in range(5 * PART - 1)]
    last, _ = s.draft.task(*made)

    # when
    request = begin(s, s.draft)
    s.world.reactor.turn(TurnInput(s.world.now))

    # then: nothing of it is there yet
    assert s.world.reactor.next_time() == s.world.now
    assert not s.world.state.graph.tasks
    # when: five turns read the tasks, ten see what each of them reads, and the last one links them
    assert turns_until(s, request) == 5 + (5 + 5) + 1 - 2
    # then
    assert isinstance(s.world.answers[request], Granted)
    assert len(s.world.state.graph.tasks) == 5 * PART
    assert s.world.task(last).missing == 5 * PART - 1
    assert [one.id for one in s.world.task(last).inputs] == made
    assert not s.world.state.growing


def test_the_tasks_of_all_parts_keep_their_order() -> None:
    s = in_parts()
    tasks = [s.draft.task(keep=True)[0] for _ in range(3 * PART)]
    turns_until(s, begin(s, s.draft))
    orders = [s.world.task(task).order for task in tasks]
    assert orders == sorted(set(orders))


def test_one_task_with_very_many_inputs_is_read_in_parts_too() -> None:
    # given: kept, so that a later submission may read them, and one is named twice
    s = in_parts()
    made = [s.draft.task(keep=True)[1][0] for _ in range(3 * PART)]
    s.submit()
    last, _ = s.draft.task(*made, made[0])
    request = begin(s, s.draft)

    # when: one turn has read the task, then some read what it reads, and the last one links it
    assert turns_until(s, request) == 1 + (3 + 1) + 1 - 1

    # then
    assert s.world.task(last).missing == 3 * PART
    assert [one.id for one in s.world.task(last).inputs] == [*made, made[0]]
    assert {s.world.object(one).needed_by for one in made} == {1}


def test_very_many_constants_are_read_in_parts_too() -> None:
    s = in_parts()
    made = [s.draft.constant(keep=True) for _ in range(3 * PART)]
    request = begin(s, s.draft)
    assert turns_until(s, request) == 3 + 1 - 1
    assert all(s.world.object(one).is_finished for one in made)


def test_those_who_come_while_it_is_read_keep_their_order() -> None:
    # given
    s = in_parts()
    first = [s.draft.task()[0] for _ in range(3 * PART)]
    other = s.world.client()
    theirs = other.session("other")
    request = begin(s, s.draft)

    # when
    quick = [theirs.task()[0] for _ in range(PART // 2)]
    other.submit(theirs)
    assert request not in s.world.answers
    turns_until(s, request)

    # then: every task has an order of its own, those that were linked first have the first ones
    orders = [s.world.task(task).order for task in (*quick, *first)]
    assert orders == sorted(set(orders))


def test_meanwhile_other_clients_are_answered_and_governors_are_heard() -> None:
    # given
    s = in_parts()
    other = s.world.client()
    for _ in range(3 * PART):
        s.draft.task()
    request = begin(s, s.draft)

    # when
    opened = s.world.request()
    (governor,) = s.governors
    s.world.turn(
        Asked(other.id, opened, OpenSession("other")), GovernorUpdated(governor.id, Update())
    )

    # then
    assert isinstance(s.world.answers[opened], Granted)
    assert governor.node.heard == s.world.now
    assert request not in s.world.answers


def test_what_its_client_asks_meanwhile_comes_after_it_in_order() -> None:
    # given
    s = in_parts()
    task, (made,) = s.draft.task(keep=True)
    for _ in range(3 * PART):
        s.draft.task()
    large = begin(s, s.draft)

    # when: it waits, submits again in parts, and asks how things stand
    wait, states = s.world.request(), s.world.request()
    s.world.turn(Asked(s.client.id, wait, WaitFor(s.draft.session, (task,), (), "all")))
    second, _ = s.draft.task(made)
    for _ in range(3 * PART):
        s.draft.task(made)
    more = begin(s, s.draft)
    s.world.turn(Asked(s.client.id, states, ReportsOf((second,), ())))
    assert states not in s.world.answers
    turns_until(s, states)

    # then
    answers = [one for one in s.world.answers if one in (large, more, states, wait)]
    assert answers == [large, more, states]
    answer = s.world.answers[states]
    assert reports_of(answer)[0][0].state is TaskState.NOT_ASSIGNED
    # when
    s.run(task)
    # then
    assert isinstance(s.world.answers[wait], Answered)


def test_it_is_refused_when_what_it_reads_is_not_kept_any_more() -> None:
    # given: somebody else takes part in the session, and keeps what is read
    s = in_parts()
    other = s.world.client()
    joined = other.join(s.draft.session)
    theirs = Draft(joined.session, joined.first)
    _, (made,) = theirs.task(keep=True)
    other.submit(theirs)
    for _ in range(3 * PART):
        s.draft.task(made)
    request = begin(s, s.draft)

    # when
    s.world.turn(Asked(other.id, s.world.request(), Unkeep((made,))))
    before = snapshot(s.world.state.graph, ("remains",))
    turns_until(s, request)

    # then
    answer = s.world.answers[request]
    assert isinstance(answer, Refuse)
    assert "was not kept" in str(answer.reason)
    assert snapshot(s.world.state.graph, ("remains",)) == before


def test_it_is_refused_when_its_session_has_failed_meanwhile() -> None:
    # given
    s = in_parts()
    task, _ = s.draft.task()
    s.submit()
    s.assign(task, to=0)
    for _ in range(3 * PART):
        s.draft.task()
    request = begin(s, s.draft)

    # when
    s.governors[0].fail(task, "no luck")
    turns_until(s, request)

    # then
    answer = s.world.answers[request]
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, SessionFailure)
    assert "no luck" in answer.reason.message


def test_it_comes_to_nothing_when_its_client_leaves() -> None:
    # given
    s = in_parts()
    for _ in range(3 * PART):
        s.draft.task()
    request = begin(s, s.draft)
    wait = s.world.request()
    s.world.turn(Asked(s.client.id, wait, WaitFor(s.draft.session, (), (), "session")))

    # when
    s.client.leave()

    # then
    assert not s.world.state.growing
    assert not s.world.state.graph.tasks
    assert isinstance(s.world.answers[request], Refuse)
    assert isinstance(s.world.answers[wait], Refuse)


def leave(s: Scene, _: RequestId) -> None:
    s.client.leave()


def lose_the_session(s: Scene, request: RequestId) -> None:
    (running,) = s.governors[0].tasks
    s.governors[0].fail(running, "no luck")
    name_what_nobody_knows(s, request)


def name_what_nobody_knows(s: Scene, request: RequestId) -> None:
    turns_until(s, request)
    assert isinstance(s.world.answers[request], Refuse)


@pytest.mark.parametrize("end", [leave, lose_the_session, name_what_nobody_knows])
def test_what_comes_to_nothing_is_gone_without_the_help_of_the_garbage_collector(
    end: Callable[[Scene, RequestId], None],
) -> None:
    # given: a task that runs, and then nodes that refer to each other, with an unknown input
    s = in_parts()
    running, _ = s.draft.task()
    s.submit()
    s.assign(running, to=0)
    gc.collect()
    gc.disable()
    try:
        before = nodes_alive()
        made = [s.draft.task()[1][0] for _ in range(3 * PART)]
        s.draft.task(*made)
        s.draft.task(ObjectId(made[-1] + 1000))
        request = begin(s, s.draft)
        for _ in range(4):
            s.world.turn()
        assert nodes_alive() > before + 3 * PART
        assert s.world.state.growing

        # when
        end(s, request)
        while s.world.state.graph.remains:
            s.world.turn()

        # then
        assert nodes_alive() <= before
    finally:
        gc.enable()
