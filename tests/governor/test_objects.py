"""Which data objects are here, and when they come and go."""

import pytest

from rain.base.errors import ProtocolError
from rain.base.exchange import LISTED
from rain.base.ids import ObjectId, session_of
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.orders import Orders
from rain.governor.core.effects import DeleteFiles, FetchObject, StopFetch
from rain.governor.core.events import FetchFailed
from rain.governor.core.fetches import FETCHES_AT_ONCE
from rain.governor.core.lingering import LINGERING_AT_MOST, LINGERING_BYTES
from rain.governor.core.results import Made, PassedOn, Stored
from rain.governor.core.tables import ObjectRow
from tests.governor.words import builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World, stored


def located(world: World) -> list[ObjectId]:
    return [one for update in world.updates for one in update.located]


def row_of(world: World, number: int) -> ObjectRow:
    session = world.reactor.state.sessions.get(session_of(object_id(number)))
    target = None if session is None else session.objects.get(object_id(number))
    return ObjectRow.GONE if target is None else target.row


def content(world: World, number: int) -> bytes | int | None:
    target = world.reactor.find(object_id(number))
    return None if target is None else target.content


def make(world: World, number: int, made: bytes | Made, inputs: tuple[int, ...] = ()) -> None:
    """An object that a task made here."""
    world.assign(builtin_kind(), number + 1000, inputs, (number,))
    (run,) = world.runs
    world.end_run(run, [made])


def test_an_object_whose_bytes_come_along_is_here_at_once() -> None:
    world = World()
    world.place(10, b"data")
    assert content(world, 10) == b"data"


def test_a_list_that_is_not_needed_is_not_taken_for_the_next_one() -> None:
    # given: a task reads a list, which the server then finds to be of no use
    world = World()
    world.place(10, content_type=LISTED)
    world.fetched(1, b"the first list")
    world.assign(python_kind(), 1, (10,), (11,))

    # when
    world.order(Orders(stop_ids=[task_id(1)], stop_runs=[1], drops=[object_id(10)]))
    world.place(10, content_type=LISTED)

    # then
    assert content(world, 10) is None
    world.fetched(2, b"the second list")
    assert content(world, 10) == b"the second list"


def test_that_bytes_which_came_along_have_arrived_is_not_told() -> None:
    world = World()
    world.place(10, b"data")
    world.place(10, b"data")
    world.place(11)
    world.place(11, b"data")
    assert not world.updates


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


def test_dropping_what_is_not_known_is_no_mistake() -> None:
    world = World()
    world.drop(10)
    world.place(11, b"")
    world.drop(10)
    assert row_of(world, 11) is ObjectRow.HELD


def test_a_dropped_object_lingers_and_then_goes_with_its_file() -> None:
    world = World(linger_seconds=5)
    make(world, 10, stored(world))
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.LINGERING
    assert world.reactor.report("me:1").objects_to_delete == (object_id(10),)
    assert world.reactor.next_time() - world.now <= 5
    world.tick(4)
    assert row_of(world, 10) is ObjectRow.LINGERING
    world.tick(1)
    assert row_of(world, 10) is ObjectRow.GONE
    assert not world.files


def test_a_lingering_object_that_is_named_again_comes_back_without_a_transfer() -> None:
    world = World(linger_seconds=5)
    world.place(10, b"data")
    world.drop(10)
    world.place(10)
    assert not world.fetches
    assert located(world) == [object_id(10)]
    assert not world.fetches
    world.tick(60)
    assert content(world, 10) == b"data"


def test_a_lingering_object_comes_back_for_a_task_that_reads_it() -> None:
    world = World(linger_seconds=5)
    world.place(10, b"data")
    world.drop(10)
    world.assign(builtin_kind(), 100, (10,), (200,))
    assert [run.inputs[0].content for run in world.runs.values()] == [b"data"]
    world.end_run(1)
    assert row_of(world, 10) is ObjectRow.LINGERING


def test_without_a_time_to_linger_dropped_objects_go_at_once() -> None:
    world = World(linger_seconds=0)
    world.place(10, b"data")
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE


def test_the_oldest_object_goes_when_too_many_linger() -> None:
    world = World(linger_seconds=5)
    numbers = range(10, 11 + LINGERING_AT_MOST)
    for number in numbers:
        world.place(number, b"data")
    world.drop(*numbers)
    assert row_of(world, numbers[0]) is ObjectRow.GONE
    assert row_of(world, numbers[1]) is ObjectRow.LINGERING
    assert row_of(world, numbers[-1]) is ObjectRow.LINGERING


def test_what_lingers_is_bounded_by_its_bytes_and_the_oldest_goes_first() -> None:
    world = World(linger_seconds=5)
    for number in (10, 11, 12):
        make(world, number, stored(world, LINGERING_BYTES // 2))
    world.drop(10, 11)
    assert row_of(world, 10) is ObjectRow.LINGERING
    world.drop(12)
    assert row_of(world, 10) is ObjectRow.GONE
    assert row_of(world, 11) is ObjectRow.LINGERING
    assert row_of(world, 12) is ObjectRow.LINGERING
    assert len(world.files) == 2


def test_an_object_that_is_too_large_to_linger_goes_at_once() -> None:
    world = World(linger_seconds=5)
    make(world, 10, stored(world, LINGERING_BYTES + 1))
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.GONE
    assert not world.files


def test_no_more_lingers_than_half_of_what_the_disk_has_left() -> None:
    world = World(linger_seconds=5)
    for number in (10, 11):
        make(world, number, stored(world, 1000))
    world.drop(10, 11)
    world.free = 2000
    world.tick()
    assert row_of(world, 10) is ObjectRow.GONE
    assert row_of(world, 11) is ObjectRow.LINGERING
    assert len(world.files) == 1


def test_a_full_disk_takes_back_all_that_lingers() -> None:
    world = World(linger_seconds=5)
    make(world, 10, stored(world, 1000))
    world.drop(10)
    world.place(11, source="elsewhere:1")
    (fetch,) = world.fetches
    world.turn(FetchFailed(fetch, "No space left on device", here=True))
    assert row_of(world, 10) is ObjectRow.GONE
    assert not world.files


def test_a_dropped_object_stays_while_tasks_read_it() -> None:
    world = World(linger_seconds=0)
    world.place(10, b"data")
    world.assign(builtin_kind(), 100, (10,), (200,))
    world.drop(10)
    assert row_of(world, 10) is ObjectRow.HELD
    world.end_run(1)
    assert row_of(world, 10) is ObjectRow.GONE


def test_small_outputs_travel_in_the_update_and_large_ones_do_not() -> None:
    world = World()
    make(world, 10, b"x" * INLINE_LIMIT)
    make(world, 11, b"x" * (INLINE_LIMIT + 1))
    make(world, 12, stored(world))
    finished = [update.finished for update in world.updates if update.finished.ids]
    assert [one.sizes for one in finished] == [[INLINE_LIMIT], [INLINE_LIMIT + 1], [300_000]]
    assert [[len(data) for data in one.data] for one in finished] == [[INLINE_LIMIT], [0], [0]]


def test_an_output_that_was_found_to_be_something_is_noted() -> None:
    world = World()
    make(world, 10, Made(b"text", "text", '{"a": 1}'))
    (note,) = [note for update in world.updates for note in update.object_notes]
    assert (note.object, note.content_type, note.user) == (object_id(10), "text", '{"a": 1}')


def test_an_input_that_is_passed_on_shares_its_file_until_both_are_gone() -> None:
    world = World(linger_seconds=0)
    make(world, 10, stored(world))
    make(world, 11, Made(PassedOn(object_id(10))), (10,))
    assert content(world, 11) == content(world, 10)
    world.drop(10)
    assert world.files
    world.drop(11)
    assert not world.files


def test_an_input_that_is_passed_on_keeps_what_was_found_out_about_it() -> None:
    world = World()
    make(world, 10, Made(b"text", "text"))
    make(world, 11, Made(PassedOn(object_id(10))), (10,))
    notes = [note for update in world.updates for note in update.object_notes]
    assert [(note.object, note.content_type) for note in notes] == [
        (object_id(10), "text"),
        (object_id(11), "text"),
    ]


def test_three_objects_share_one_file() -> None:
    world = World(linger_seconds=0)
    make(world, 10, stored(world))
    make(world, 11, Made(PassedOn(object_id(10))), (10,))
    make(world, 12, Made(PassedOn(object_id(10))), (10,))
    world.drop(11)
    world.drop(10)
    assert world.files
    world.drop(12)
    assert not world.files


def test_what_is_held_stays_when_it_is_made_again() -> None:
    # Given a task with two outputs, of which one is here from before
    world = World(linger_seconds=0)
    world.place(10, b"old")
    world.assign(builtin_kind(outputs=2), 100, (), (10, 11))
    # When it makes both
    world.end_run(1, [stored(world), b"new"])
    # Then the old one stays, and is what the server is told
    assert content(world, 10) == b"old"
    assert world.finished[task_id(100)] == [b"old", b"new"]
    assert not world.files


def test_what_is_held_stays_when_making_it_again_fails() -> None:
    world = World(linger_seconds=0)
    world.place(10, b"old")
    world.assign(builtin_kind(), 100, (), (10,))
    world.drop(10)
    assert content(world, 10) == b"old"
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.GONE


def test_a_lingering_object_is_made_anew() -> None:
    world = World(linger_seconds=5)
    world.place(10, b"old")
    world.drop(10)
    make(world, 10, b"new")
    assert content(world, 10) == b"new"


def test_an_object_is_made_here_instead_of_fetched() -> None:
    world = World()
    world.place(10)
    make(world, 10, b"new")
    assert not world.fetches
    assert content(world, 10) == b"new"


def test_naming_an_object_that_is_being_made_does_not_fetch_it() -> None:
    world = World()
    world.assign(builtin_kind(), 100, (), (10,))
    world.place(10)
    assert not world.fetches


def test_a_task_waits_for_what_another_task_here_makes() -> None:
    world = World(Resources(2))
    world.assign(builtin_kind(), 100, (), (10,))
    world.assign(builtin_kind(), 101, (10, 10), (11,))
    assert len(world.runs) == 1
    world.end_run(1, [b"made"])
    assert [[one.content for one in run.inputs] for run in world.runs.values()] == [
        [b"made", b"made"]
    ]


def test_a_task_that_waits_for_an_output_of_a_stopped_task_waits_for_the_server() -> None:
    world = World(Resources(2))
    world.assign(builtin_kind(), 100, (), (10,))
    world.assign(builtin_kind(), 101, (10,), (11,))
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.ABSENT
    world.stop(101)
    assert row_of(world, 10) is ObjectRow.GONE


def test_an_unwanted_output_goes_as_soon_as_it_is_made() -> None:
    world = World(linger_seconds=0)
    world.assign(builtin_kind(), 100, (), (10,))
    world.drop(10)
    world.end_run(1, [b"made"])
    assert world.finished[task_id(100)] == [b"made"]
    assert row_of(world, 10) is ObjectRow.GONE


def test_two_tasks_that_make_one_object_are_a_mistake_of_the_server() -> None:
    world = World(Resources(2), checking=False)
    world.assign(builtin_kind(), 100, (), (10,))
    with pytest.raises(ProtocolError, match="two tasks make the object 1/10"):
        world.assign(builtin_kind(), 101, (), (10,))


def test_a_closed_session_leaves_nothing() -> None:
    world = World(linger_seconds=5)
    make(world, 10, stored(world))
    make(world, 11, stored(world))
    world.drop(11)
    world.place(12)
    effects = world.forget()
    assert StopFetch(1) in effects
    assert not world.files
    assert world.reactor.report("me:1").objects == ()
    assert [effect for effect in effects if isinstance(effect, FetchObject)] == []
