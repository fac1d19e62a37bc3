"""Which data objects are here, and when they come and go."""

import pytest

from rain.base.errors import ProtocolError
from rain.base.exchange import LISTED
from rain.base.resources import Resources
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.orders import Orders
from rain.governor.core.effects import FetchObject, StopFetch
from rain.governor.core.results import Made, PassedOn
from rain.governor.core.tables import ObjectRow
from tests.governor.held_objects import content, make, row_of
from tests.governor.words import builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World, stored


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


def test_bytes_that_are_held_stay_when_they_are_made_again() -> None:
    world = World(linger_seconds=0)
    world.place(10, b"old")
    world.assign(builtin_kind(outputs=2), 100, (), (10, 11))
    world.end_run(1, [b"again", b"new"])
    assert content(world, 10) == b"old"
    assert world.finished[task_id(100)] == [b"old", b"new"]


def test_what_is_on_its_way_is_not_found() -> None:
    world = World()
    world.place(10)
    assert world.fetches
    assert world.reactor.find(object_id(10)) is None


def test_what_is_held_stays_when_making_it_again_fails() -> None:
    world = World(linger_seconds=0)
    world.place(10, b"old")
    world.assign(builtin_kind(), 100, (), (10,))
    world.drop(10)
    assert content(world, 10) == b"old"
    world.stop(100)
    assert row_of(world, 10) is ObjectRow.GONE


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
