"""Copies that their source does not give: tried elsewhere, and at last made again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.server.core.messages import OrderGovernor, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, orders_in, scene


def fetching(*, holders: int, tries: int = 3) -> tuple[Scene, ObjectId, TaskId, TaskId]:
    """An object on some governors, and a reader on the last one that was told to fetch it."""
    settings = ReactorSettings(debug=True, governor_silence=1e9, fetch_tries=tries)
    s = scene(*([1] * (holders + 1)), settings=settings)
    producer, (a,) = s.draft.task()
    reader, _ = s.draft.task(a, keep=True)
    s.submit()
    s.run(producer, on=0)
    for holder in range(1, holders):
        s.copy(a, to=holder)
        s.governors[holder].locate(a)
    s.assign(reader, to=holders)
    return s, a, producer, reader


def sources(s: Scene, a: ObjectId, tries: int) -> list[str]:
    """The sources that the last governor is sent to, after one failure each."""
    found: list[str] = []
    last = s.governors[-1]
    for _ in range(tries):
        (orders,) = orders_in(last.send(Update(unfetched=[a]))).values()
        assert orders.tasks.ids == []
        found += orders.objects.sources
    return found


def test_after_a_failed_fetch_another_holder_takes_its_turn() -> None:
    s, a, _, _ = fetching(holders=3, tries=5)
    addresses = [governor.source for governor in s.governors[:3]]
    assert sources(s, a, 4) == [addresses[1], addresses[2], addresses[0], addresses[1]]


def test_a_reader_goes_on_from_another_copy_when_its_source_leaves() -> None:
    # given: the source is gone, which the governor notices before or after the server
    s, a, _, reader = fetching(holders=2)
    assert s.governors[0].leave() == []

    # when
    assert sources(s, a, 1) == [s.governors[1].source]
    s.governors[-1].locate(a)

    # then
    s.governors[-1].finish(reader)
    assert s.world.task(reader).state is TaskState.FINISHED
    assert len(s.world.task(reader).runs) == 1


def test_what_nobody_gives_is_made_again_at_last() -> None:
    # given: two failures
    s, a, producer, reader = fetching(holders=1)
    assert sources(s, a, 2) == [s.governors[0].source] * 2
    (output,) = s.world.task(reader).outputs

    # when: the third one
    effects = s.governors[-1].send(Update(unfetched=[a]))

    # then: the holder drops it, the reader stops and fetches no more, the producer runs again
    assert orders_in(effects) == {
        GovernorId(1): Orders(drops=[a]),
        GovernorId(2): Orders(stop_ids=[reader], stop_runs=[1], drops=[output.id, a]),
    }
    assert s.world.task(producer).row is TaskRow.READY
    assert s.world.task(reader).row is TaskRow.WAITING
    assert not s.world.object(a).copies
    s.run(producer, on=1)
    s.run(reader, on=1)
    assert s.world.task(reader).state is TaskState.FINISHED


def test_a_fetch_that_succeeds_after_a_failure_starts_to_count_anew() -> None:
    s, a, _, _ = fetching(holders=1, tries=2)
    sources(s, a, 1)
    assert s.node(-1).objects[s.world.object(a)].tries == 1
    s.governors[-1].locate(a)
    assert s.node(-1).objects[s.world.object(a)].tries == 0


def test_what_the_server_has_itself_is_offered_after_growing_pauses_and_not_for_ever() -> None:
    # given: a large constant, and a governor that cannot get it
    settings = ReactorSettings(debug=True, governor_silence=1e9, offer_tries=5, out_of_reach=1)
    s = scene(1, settings=settings, on_failure=OnFailure.CONTINUE)
    constant = s.draft.constant(bytes(100_000), keep=True)
    task, _ = s.draft.task(constant)
    s.submit()
    s.assign(task)

    # when: it is offered when the pause is over, and not before
    pauses: list[float] = []
    for _ in range(4):
        assert orders_in(s.governors[0].send(Update(unfetched=[constant]))) == {}
        pauses.append(s.world.reactor.next_time() - s.world.now)
        (orders,) = orders_in(s.world.turn(after=pauses[-1])).values()
        assert orders.objects.sources == ["server"]
    s.governors[0].send(Update(unfetched=[constant]))

    # then
    assert [round(pause, 3) for pause in pauses] == [0.1, 0.2, 0.4, 0.8]
    assert s.world.task(task).row is TaskRow.FAILED
    failure = s.world.task(task).failure
    assert failure is not None
    assert "from the server to the governor 127.0.0.1:9001, after 5 tries" in failure.message
    assert task not in s.governors[0].tasks
    assert s.world.object(constant).state is ObjectState.FINISHED
    assert not s.world.object(constant).copies
    assert not s.world.state.fetches.postponed


def test_what_never_arrives_is_made_again_so_often_and_no_more() -> None:
    # given: a governor that cannot fetch from the only other one, where the object is always made
    s, a, producer, reader = fetching(holders=1, tries=2)
    s.world.state.settings = evolve(s.world.state.settings, out_of_reach=1)
    for _ in range(s.world.state.settings.remake_rounds):
        sources(s, a, 1)
        s.governors[-1].send(Update(unfetched=[a]))
        assert s.world.task(producer).row is TaskRow.READY
        s.run(producer, on=0)
        s.assign(reader, to=1)
    wait = s.client.wait(s.draft.session, reader)

    # when
    sources(s, a, 1)
    s.governors[-1].send(Update(unfetched=[a]))

    # then: the reader has failed, with both ends by name
    answer = s.world.answers[wait]
    assert isinstance(answer, Refuse)
    assert isinstance(answer.reason, SessionFailure)
    assert answer.reason.task == reader
    ends = "from 127.0.0.1:9001 to the governor 127.0.0.1:9002, though it was made again 2 times"
    assert ends in answer.reason.message
    assert not s.world.state.fetches.remade


def out_of_reach() -> tuple[Scene, TaskId, ObjectId]:
    """Two governors that cannot reach each other: one holds the input of a task of the other."""
    settings = ReactorSettings(
        debug=True, governor_silence=1e9, fetch_tries=1, remake_rounds=0, out_of_reach=2
    )
    s = scene(1, 1, settings=settings, on_failure=OnFailure.CONTINUE)
    producer, (a,) = s.draft.task()
    reader, _ = s.draft.task(a, keep=True)
    s.submit()
    s.run(producer, on=0)
    s.assign(reader, to=1)
    return s, reader, a


def test_another_governor_may_still_read_what_does_not_arrive_at_one() -> None:
    # given: a reader with one try, whose governor cannot fetch
    s, reader, a = out_of_reach()

    # when
    s.governors[1].send(Update(unfetched=[a]))

    # then: it goes where its input is, and the other governor rests
    assert s.governors[1].tasks == {}
    assert s.node(1).rests
    s.assign(reader, to=0)
    s.governors[0].finish(reader)
    assert s.world.task(reader).state is TaskState.FINISHED
    first, second = s.world.task(reader).runs
    assert (first.cause, second.cause) == (RunCause.NOT_STARTED, None)


def test_a_task_fails_whose_inputs_are_out_of_reach_again_and_again() -> None:
    # given: it was handed back once, and the rest of its governor is over
    s, reader, a = out_of_reach()
    s.governors[1].send(Update(unfetched=[a]))
    s.world.turn(after=60.0)
    s.assign(reader, to=1)

    # when
    s.governors[1].send(Update(unfetched=[a]))

    # then: it has failed, with both ends by name
    failure = s.world.task(reader).failure
    assert failure is not None
    assert "no governor could start the task, in 2 tries" in failure.message
    assert "from 127.0.0.1:9001 to the governor 127.0.0.1:9002" in failure.message


def test_a_failed_fetch_of_what_was_dropped_meanwhile_is_ignored() -> None:
    s = scene(1, 1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, on=0)
    s.copy(a, to=1)
    s.drop(a, at=1)
    assert s.governors[1].send(Update(unfetched=[a])) == []
    assert s.world.state.ignored == 1


def test_a_holder_that_has_it_no_more_is_told_to_get_it_again() -> None:
    # given: a copy that was reported, dropped and ordered again, so that the report came too late
    s, a, _, reader = fetching(holders=1)
    s.governors[-1].locate(a)
    assert s.world.object(a).located == (s.node(0), s.node(1))

    # when
    effects = s.governors[-1].send(Update(unfetched=[a]))

    # then
    assert orders_in(effects)[GovernorId(2)].objects.sources == [s.governors[0].source]
    assert s.world.object(a).located == (s.node(0),)
    assert s.world.task(reader).row is TaskRow.ASSIGNED


def test_the_only_holder_that_has_it_no_more_loses_it() -> None:
    s = scene(1)
    task, (a,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    effects = s.governors[0].send(Update(unfetched=[a]))
    assert effects == [OrderGovernor(GovernorId(1), Orders(drops=[a]))]
    assert s.world.object(a).state is ObjectState.UNFINISHED
    assert s.world.task(task).row is TaskRow.READY


FORGET: dict[str, Callable[[Scene], object]] = {
    "governor": lambda s: s.governors[0].leave(),
    "session": lambda s: s.client.leave(),
}


@pytest.mark.parametrize("gone", FORGET)
def test_failures_are_forgotten_with_their_session_and_their_governor(
    gone: str,
) -> None:
    # given: a constant that is to be offered again after a pause
    s = scene(1)
    constant = s.draft.constant(bytes(100_000), keep=True)
    task, _ = s.draft.task(constant)
    s.submit()
    s.assign(task)
    s.governors[0].send(Update(unfetched=[constant]))
    (copy,) = s.world.object(constant).copies
    assert list(s.world.state.fetches.postponed) == [copy]
    # when
    FORGET[gone](s)
    # then
    assert not s.world.state.fetches.postponed
    assert not copy.is_there
