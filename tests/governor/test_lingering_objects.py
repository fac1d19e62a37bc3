"""Objects that were dropped: some linger, in case that they are wanted again."""

from rain.governor.core.events import FetchFailed
from rain.governor.core.lingering import LINGERING_AT_MOST, LINGERING_BYTES
from rain.governor.core.tables import ObjectRow
from tests.governor.held_objects import content, located, make, row_of
from tests.governor.words import builtin_kind, object_id
from tests.governor.world import World, stored


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


def test_no_turn_is_due_for_what_has_lingered_long_enough() -> None:
    world = World(linger_seconds=5)
    world.place(10, b"data")
    world.drop(10)
    world.tick(6)
    assert row_of(world, 10) is ObjectRow.GONE
    assert world.reactor.next_time() > world.now


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


def test_a_lingering_object_is_made_anew() -> None:
    world = World(linger_seconds=5)
    world.place(10, b"old")
    world.drop(10)
    make(world, 10, b"new")
    assert content(world, 10) == b"new"
