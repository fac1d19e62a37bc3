"""Copies that a governor fetches: from where, in which order, and what fails."""

from rain.base.runs import RunCause
from rain.base.wire.orders import Orders
from rain.governor.core.effects import DeleteFiles, StopFetch
from rain.governor.core.fetches import FETCHES_AT_ONCE
from rain.governor.core.results import Stored
from rain.governor.core.tables import ObjectRow
from tests.governor.held_objects import content, located, row_of
from tests.governor.words import builtin_kind, object_id, task_id
from tests.governor.world import World


def test_a_copy_is_fetched_from_where_it_is() -> None:
    world = World()
    world.place(10)
    (fetch,) = world.fetches.values()
    assert (fetch.object, fetch.source, fetch.size) == (object_id(10), "other:1", 2_000_000)
    assert not located(world)
    world.fetched(fetch.fetch, b"data")
    assert located(world) == [object_id(10)]
    assert content(world, 10) == b"data"


def test_a_large_copy_is_a_file() -> None:
    world = World()
    world.place(10)
    number = world.new_file()
    world.fetched(1, Stored(number, 300_000))
    assert content(world, 10) == number


def test_few_copies_are_fetched_at_a_time_in_their_order() -> None:
    world = World()
    orders = Orders()
    for number in range(20):
        world.place(10 + number, orders=orders, send=False)
    world.order(orders)
    fetched = [fetch.object for fetch in world.fetches.values()]
    assert fetched == [object_id(10 + number) for number in range(FETCHES_AT_ONCE)]
    world.fetched(1, b"")
    assert object_id(10 + FETCHES_AT_ONCE) in [fetch.object for fetch in world.fetches.values()]


def test_a_copy_that_cannot_be_fetched_is_reported_and_known_until_the_server_drops_it() -> None:
    world = World()
    world.place(10)
    world.fetch_failed(1)
    assert world.updates[-1].unfetched == [object_id(10)]
    assert row_of(world, 10) is ObjectRow.ABSENT
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE


def test_a_task_may_read_what_could_not_be_fetched_before_the_server_has_heard_of_it() -> None:
    # given: a copy that its source did not give, and that no task here reads yet
    world = World()
    world.place(10)
    world.fetch_failed(1)

    # when
    world.assign(builtin_kind(), 100, (10,), (200,))

    # then: it waits for another source
    assert not world.runs
    world.place(10, source="third:1")
    world.fetched(2, b"data")
    assert [run.inputs[0].content for run in world.runs.values()] == [b"data"]


def test_a_task_whose_input_could_not_be_fetched_waits_for_another_source() -> None:
    world = World()
    world.place(10)
    world.assign(builtin_kind(), 100, (10,), (200,))
    world.fetch_failed(1)
    assert row_of(world, 10) is ObjectRow.ABSENT
    world.place(10, source="third:1")
    world.fetched(2, b"data")
    assert [run.inputs[0].content for run in world.runs.values()] == [b"data"]


def test_a_task_whose_input_cannot_be_stored_is_handed_back() -> None:
    world = World()
    world.place(10)
    world.assign(builtin_kind(), 100, (10,), (200,))
    world.fetch_failed(1, here=True)
    (failure,) = world.updates[-1].failed
    assert failure.task == task_id(100)
    assert failure.message == "the input 1/10 cannot be stored on its governor: disk full"
    assert failure.cause is RunCause.NOT_STARTED
    # and: the source has it still, so the server need not look for another one
    assert world.updates[-1].unfetched == []
    assert not world.fetches


def test_what_could_not_be_stored_is_fetched_again_for_who_reads_it_next() -> None:
    # given
    world = World()
    world.place(10)
    world.fetch_failed(1, here=True)
    assert row_of(world, 10) is ObjectRow.UNSTORED
    # when
    world.assign(builtin_kind(), 100, (10,), (200,))
    world.fetched(2, b"data")
    # then
    assert [run.inputs[0].content for run in world.runs.values()] == [b"data"]
    assert world.updates[-1].located == [object_id(10)]


def test_what_could_not_be_stored_goes_when_nobody_wants_it() -> None:
    world = World()
    world.place(10)
    world.fetch_failed(1, here=True)
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE


def test_a_copy_that_is_named_with_another_source_is_fetched_from_there() -> None:
    world = World()
    world.place(10, source="a:1")
    effects = [*world.order(world.place(10, source="b:1", send=False))]
    assert StopFetch(1) in effects
    assert [fetch.source for fetch in world.fetches.values()] == ["b:1"]
    # And what the old source still says does not count
    number = world.new_file()
    effects = world.fetched(1, Stored(number, 9))
    assert DeleteFiles([number]) in effects
    assert not located(world)
    world.fetch_failed(1)
    assert row_of(world, 10) is ObjectRow.PULLING


def test_naming_a_copy_again_with_the_same_source_changes_nothing() -> None:
    world = World()
    world.place(10)
    world.place(10)
    assert list(world.fetches) == [1]


def test_a_copy_that_waits_for_its_turn_may_get_another_source_or_its_bytes() -> None:
    world = World()
    for number in range(FETCHES_AT_ONCE + 2):
        world.place(10 + number)
    first, second = 10 + FETCHES_AT_ONCE, 11 + FETCHES_AT_ONCE
    world.place(first, source="third:1")
    world.place(second, b"data")
    assert content(world, second) == b"data"
    world.fetched(1, b"")
    world.fetched(2, b"")
    assert [fetch.source for fetch in world.fetches.values() if fetch.object == object_id(first)]
    assert len(world.fetches) == FETCHES_AT_ONCE - 1


def test_a_dropped_copy_that_is_not_here_goes_at_once() -> None:
    world = World()
    world.place(10)
    assert StopFetch(1) in world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE
