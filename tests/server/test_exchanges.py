"""Exchanges: what governors are told, how long what they name stays, and what a loss means."""

from __future__ import annotations

import pytest
from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.exchange import EXCHANGE, ListedObject, decode_list
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.runs import RunCause, RunState
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.orders import SERVER, AssignedTasks
from rain.base.wire.update import Update
from rain.server.core.messages import Effect, GovernorAway, GovernorUpdated
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import Scene, orders_in, scene


@frozen
class Shuffle:
    """Two inputs, and two tasks that read one part of each."""

    splits: tuple[TaskId, TaskId]
    pieces: tuple[ObjectId, ObjectId]
    exchange: TaskId
    listed: ObjectId
    merges: tuple[TaskId, TaskId]
    results: tuple[ObjectId, ObjectId]


def shuffle(s: Scene) -> Shuffle:
    one, (a,) = s.draft.task()
    two, (b,) = s.draft.task()
    exchange, (listed,) = s.draft.task(a, b, cpus=0, task_type=EXCHANGE)
    first, (x,) = s.draft.task(listed, keep=True)
    second, (y,) = s.draft.task(listed, keep=True)
    s.submit()
    return Shuffle((one, two), (a, b), exchange, listed, (first, second), (x, y))


def told(s: Scene, effects: list[Effect], on: int) -> AssignedTasks:
    return orders_in(effects)[s.governors[on].id].tasks


def split_on(s: Scene, made: Shuffle, one: int, two: int) -> None:
    s.run(made.splits[0], on=one, size=200)
    s.run(made.splits[1], on=two, size=600)


def exchange_on(s: Scene, made: Shuffle, on: int) -> list[ListedObject]:
    """Runs the exchange; what its governor was told."""
    config = told(s, s.assign(made.exchange, to=on), on).configs[0]
    s.governors[on].finish(made.exchange, data=config)
    return decode_list(config)


def wait(s: Scene, exchange: TaskId) -> float:
    """Until an exchange does not pause any more; the seconds that this took."""
    began = s.world.now
    while s.world.task(exchange).row is TaskRow.PAUSED:
        left = s.world.state.graph.pauses[0][0] - s.world.now
        s.world.turn(*[GovernorUpdated(g.id, Update()) for g in s.governors], after=min(left, 10.0))
    return s.world.now - began


def test_the_governor_of_an_exchange_is_told_the_places_and_gets_nothing_else() -> None:
    # given
    s = scene(1, 1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)

    # when
    effects = s.assign(made.exchange, to=2)

    # then: it has no inputs, and nothing is moved
    columns = told(s, effects, 2)
    assert (columns.ids, columns.input_counts, columns.inputs) == ([made.exchange], [0], [])
    assert s.governors[2].fetching() == []
    a, b = made.pieces
    first, second = s.governors[0].source, s.governors[1].source
    assert decode_list(columns.configs[0]) == [
        ListedObject(a, 100, first),
        ListedObject(b, 300, second),
    ]


def test_small_results_whose_governor_has_gone_are_read_from_the_server() -> None:
    # given
    s = scene(1, 1)
    made = shuffle(s)
    s.assign(made.splits[0], to=0)
    s.governors[0].finish(made.splits[0], data=b"small")
    s.run(made.splits[1], on=1)

    # when
    s.governors[0].leave()
    columns = told(s, s.assign(made.exchange, to=1), 1)

    # then
    assert [one.source for one in decode_list(columns.configs[0])] == [
        SERVER,
        s.governors[1].source,
    ]


def test_what_a_list_names_stays_until_its_last_reader_has_finished() -> None:
    # given
    s = scene(1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)
    exchange_on(s, made, 0)
    pieces = [s.world.object(one) for one in made.pieces]

    # when
    s.run(made.merges[0], on=0)

    # then
    assert [one.state for one in pieces] == [ObjectState.FINISHED] * 2
    assert pieces[0].consumers == (s.world.task(made.exchange),)  # and no edges to the readers

    # when
    s.run(made.merges[1], on=1)

    # then
    assert [one.state for one in pieces] == [ObjectState.REMOVED] * 2
    assert s.world.object(made.listed).state is ObjectState.REMOVED


def test_the_server_does_not_keep_a_list_however_small() -> None:
    s = scene(1)
    made = shuffle(s)
    split_on(s, made, 0, 0)
    exchange_on(s, made, 0)
    assert s.world.object(made.listed).data is None
    assert s.world.object(made.listed).is_finished


def test_a_list_that_a_governor_says_is_empty_contradicts_nothing() -> None:
    s = scene(1)
    made = shuffle(s)
    split_on(s, made, 0, 0)
    s.assign(made.exchange)
    s.governors[0].finish(made.exchange, size=0)  # the checker looks after each turn
    assert s.world.object(made.listed).is_finished


def test_a_list_is_lost_as_a_whole_and_only_what_is_gone_is_made_again() -> None:
    # given: one part is merged, the other one is being merged
    s = scene(1, 1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)
    exchange_on(s, made, 2)
    s.run(made.merges[0], on=2)
    s.assign(made.merges[1], to=2)

    # when
    s.governors[0].leave()

    # then
    rows = [s.world.task(one).row for one in (*made.splits, made.exchange, *made.merges)]
    ready, finished, waiting = TaskRow.READY, TaskRow.FINISHED, TaskRow.WAITING
    assert rows == [ready, finished, waiting, finished, waiting]
    assert s.governors[2].tasks == {}
    assert s.world.task(made.merges[1]).last_run().cause is RunCause.INPUT_LOST

    # when: it is made elsewhere
    s.run(made.splits[0], on=1, size=200)
    listed = exchange_on(s, made, 2)

    # then
    assert {one.source for one in listed} == {s.governors[1].source}
    s.run(made.merges[1], on=2)
    assert s.world.object(made.results[1]).is_finished


def test_a_list_that_names_a_lost_copy_is_made_anew_though_there_is_another_copy() -> None:
    # given
    s = scene(1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)
    exchange_on(s, made, 1)
    s.copied(made.pieces[0], to=1)

    # when
    s.governors[0].leave()

    # then
    assert s.world.task(made.splits[0]).row is TaskRow.FINISHED
    assert s.world.task(made.exchange).row is TaskRow.READY
    assert {one.source for one in exchange_on(s, made, 1)} == {s.governors[1].source}


def test_an_exchange_that_was_told_of_a_lost_copy_is_told_anew() -> None:
    # given
    s = scene(1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)
    s.copied(made.pieces[0], to=1)
    s.assign(made.exchange, to=1)

    # when
    s.governors[0].leave()

    # then
    assert s.governors[1].tasks == {}
    assert {one.source for one in exchange_on(s, made, 1)} == {s.governors[1].source}


def test_a_part_that_cannot_be_read_uses_up_no_try_and_the_list_is_made_anew() -> None:
    # given
    s = scene(1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 0)
    exchange_on(s, made, 0)
    s.assign(made.merges[0], to=1)
    s.governors[1].locate(made.listed)

    # when
    s.governors[1].fail(made.merges[0], "cannot read part 0", RunCause.INPUT_LOST)

    # then
    task = s.world.task(made.merges[0])
    assert (task.row, task.last_run().state) == (TaskRow.WAITING, RunState.HANDED_BACK)
    assert s.world.task(made.exchange).row is TaskRow.PAUSED
    s.world.turn(after=1.0)
    assert s.world.task(made.exchange).row is TaskRow.READY
    assert not s.node(1).rests


def test_what_cannot_be_read_from_a_governor_without_a_connection_is_made_again_elsewhere() -> None:
    # given: a governor has died, and its server waits whether it comes back
    s = scene(1, 1)
    made = shuffle(s)
    split_on(s, made, 0, 1)
    exchange_on(s, made, 1)
    s.assign(made.merges[0], to=1)
    s.world.turn(GovernorAway(s.governors[0].id, "cut"))
    assert s.world.task(made.splits[0]).row is TaskRow.FINISHED

    # when
    s.governors[1].fail(made.merges[0], "cannot read part 0", RunCause.INPUT_LOST)

    # then: another try before its time is over would fail in the same way
    assert s.world.task(made.merges[0]).row is TaskRow.WAITING
    assert s.world.task(made.exchange).row is TaskRow.WAITING
    assert s.world.task(made.splits[0]).row is TaskRow.READY
    assert s.world.task(made.splits[1]).row is TaskRow.FINISHED
    s.run(made.splits[0], on=1, size=200)
    assert {one.source for one in exchange_on(s, made, 1)} == {s.governors[1].source}


def test_a_part_that_can_never_be_read_fails_and_says_why() -> None:
    # given
    s = scene(1, 1, on_failure=OnFailure.CONTINUE)
    made = shuffle(s)
    split_on(s, made, 0, 0)

    # when
    for _ in range(10):
        exchange_on(s, made, 0)
        s.assign(made.merges[0], to=1)
        s.governors[1].locate(made.listed)
        s.governors[1].fail(made.merges[0], "cannot read part 0: no route", RunCause.INPUT_LOST)
        wait(s, made.exchange)

    # then
    failure = s.world.task(made.merges[0]).failure
    assert failure is not None
    assert "in 10 tries; the last one: cannot read part 0: no route" in failure.message


def test_a_task_reads_its_part_again_for_longer_than_a_governor_may_be_silent() -> None:
    # given
    silence = 50.0
    s = scene(1, 1, settings=ReactorSettings(debug=True, governor_silence=silence))
    made = shuffle(s)
    split_on(s, made, 0, 0)

    # when
    paused = 0.0
    for _ in range(9):
        exchange_on(s, made, 0)
        s.assign(made.merges[0], to=1)
        s.governors[1].locate(made.listed)
        s.governors[1].fail(made.merges[0], "cannot read part 0", RunCause.INPUT_LOST)
        paused += wait(s, made.exchange)

    # then: a machine that had gone would have been noticed
    assert s.world.task(made.merges[0]).row is TaskRow.WAITING
    assert silence < paused < 3 * silence


def test_an_exchange_is_not_sent_before_it_is_known_where_everything_is() -> None:
    s = scene(2)
    made = shuffle(s)
    s.assign(*made.splits, made.exchange)
    assert s.world.task(made.exchange).row is TaskRow.PLANNED
    s.governors[0].finish(made.splits[0])
    effects = s.governors[0].finish(made.splits[1])
    assert len(decode_list(told(s, effects, 0).configs[0])) == 2


@pytest.mark.parametrize(("outputs", "idempotent"), [(2, False), (1, True)])
def test_an_exchange_makes_one_list_and_does_not_run_twice_at_a_time(
    outputs: int, idempotent: bool
) -> None:
    s = scene(1)
    s.draft.task(outputs=outputs, idempotent=idempotent, task_type=EXCHANGE)
    assert "makes one list, of the content type 'exchange', and" in str(s.client.submit(s.draft))


@pytest.mark.parametrize(
    "nonsense", [b"", b"{}", b"[]", b'{"sources": [], "objects": [[1, 2, 0]]}', b"\xff"]
)
def test_a_list_that_makes_no_sense_is_refused(nonsense: bytes) -> None:
    with pytest.raises(ProtocolError, match="is invalid"):
        decode_list(nonsense)
