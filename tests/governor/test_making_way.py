"""A full disk and a far store: inputs of waiting tasks leave when nothing else helps."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.ids import ObjectId, TaskId
from rain.base.resources import Resources
from rain.base.wire.orders import LATER
from rain.governor.core.back_pressure import PATIENCE
from rain.governor.core.disk import Disk
from rain.governor.core.effects import SendFar
from rain.governor.core.offloading import AT_ONCE, RETRY_AFTER
from rain.governor.core.results import Stored
from rain.governor.core.tables import ObjectRow, TaskRow
from tests.governor.test_back_pressure import running
from tests.governor.test_offloading import SIZE, end, make, row_of, send_all, sent_objects
from tests.governor.words import builtin_kind, object_id, task_id
from tests.governor.world import World
from tests.support.effort import examples

ROOM = 4
MAKE, READ, CHANGE = builtin_kind(3), builtin_kind(6), builtin_kind(7)
LOAD = builtin_kind(8)


def a_world(*, spills: bool = True) -> World:
    """A disk for four files."""
    return World(Resources(20), linger_seconds=0, disk=Disk(ROOM * SIZE, spills=spills))


def chosen(world: World) -> TaskId | None:
    task = world.reactor.state.objects.fetches.chosen
    return None if task is None else task.id


def fetched_objects(world: World) -> list[int]:
    return [fetch.object - object_id(0) for fetch in world.fetches.values()]


def fetch_all(world: World) -> None:
    while world.fetches:
        fetch = next(iter(world.fetches.values()))
        world.fetched(fetch.fetch, Stored(world.new_file(), fetch.size))


def move_all(world: World) -> list[ObjectId]:
    """All copies and transfers that were ordered are made; which objects are copied."""
    copied: list[ObjectId] = []
    while world.sends or world.fetches:
        copied += sent_objects(world)
        for number in list(world.sends):
            world.sent(number)
        fetch_all(world)
    return copied


def crossed(*, spills: bool = True) -> World:
    """The inputs 1 to 4 fill the disk. Task 101 waits for 5, too, and task 102 for 6."""
    world = a_world(spills=spills)
    for number in (1, 2, 3, 4):
        world.assign(MAKE, number, (), (number,))
    for number in (5, 6):
        world.place(number, source=LATER, size=SIZE)
    world.assign(READ, 101, (1, 2, 5), (101,))
    world.assign(READ, 102, (3, 4, 6), (102,))
    for number in (1, 2, 3, 4):
        end(world, number, SIZE)
    assert not world.sends  # nothing waits for room
    for number in (5, 6):
        world.place(number, size=SIZE)
    return world


def test_an_input_of_the_less_urgent_task_leaves_for_one_of_the_more_urgent() -> None:
    world = crossed()
    assert chosen(world) == task_id(101)
    (leaving,) = sent_objects(world)
    assert leaving in (object_id(3), object_id(4))
    send_all(world)
    assert row_of(world, leaving - object_id(0)) is ObjectRow.REMOTE
    assert fetched_objects(world) == [5]


def test_the_other_task_has_its_turn_then() -> None:
    world = crossed()
    move_all(world)
    assert running(world) == [task_id(101)]
    end(world, 101)
    move_all(world)
    assert running(world) == [task_id(102)]


def test_only_what_the_chosen_task_reads_is_fetched_until_it_starts() -> None:
    world = crossed()
    world.place(7, size=SIZE // 2)
    world.assign(READ, 100, (7, 6), (100,), priority=1)  # more urgent, and comes too late
    send_all(world)
    assert fetched_objects(world) == [5]


def test_a_chosen_task_that_is_stopped_makes_way_for_the_next() -> None:
    world = crossed()
    world.stop(101)
    assert chosen(world) is None
    move_all(world)
    assert running(world) == [task_id(102)]


def test_without_a_far_store_what_waits_for_room_is_handed_back() -> None:
    world = crossed(spills=False)
    assert chosen(world) is None
    world.tick(PATIENCE + 1)
    assert not any(isinstance(effect, SendFar) for effect in world.effects)
    assert list(world.failed) == [task_id(101)]


def test_nothing_leaves_for_a_task_that_can_never_fit() -> None:
    world = a_world()
    for number in (1, 2, 3, 4):
        world.assign(MAKE, number, (), (number,))
    world.place(5, source=LATER, size=SIZE)
    world.assign(READ, 101, (1, 2, 3, 4, 5), (101,))
    for number in (1, 2, 3, 4):
        end(world, number, SIZE)
    world.place(5, size=SIZE)
    assert chosen(world) is None
    assert not world.sends
    world.tick(PATIENCE + 1)
    assert list(world.failed) == [task_id(101)]


def test_a_task_whose_inputs_and_outputs_do_not_fit_together_is_not_chosen() -> None:
    # given: it is known what tasks of one kind make
    world = a_world()
    make(world, 1)
    world.assign(CHANGE, 200, (1,), (200,))
    end(world, 200, SIZE)
    world.drop(1, 200)
    # when: the more urgent task needs the whole disk for its inputs
    for number in (1, 2, 3, 4):
        world.assign(MAKE, number, (), (number,))
    for number in (5, 6):
        world.place(number, source=LATER, size=SIZE)
    world.assign(CHANGE, 101, (1, 2, 3, 5), (101,))
    world.assign(READ, 102, (4, 6), (102,))
    for number in (1, 2, 3, 4):
        end(world, number, SIZE)
    for number in (5, 6):
        world.place(number, size=SIZE)
    # then
    assert chosen(world) == task_id(102)


def test_a_task_that_waits_for_more_than_room_is_not_chosen() -> None:
    # given: nobody has the other input of the more urgent task yet
    world = a_world()
    for number in (1, 2, 3, 4):
        world.assign(MAKE, number, (), (number,))
    for number in (5, 6, 7):
        world.place(number, source=LATER, size=SIZE)
    world.assign(READ, 101, (1, 2, 5, 7), (101,))
    world.assign(READ, 102, (3, 4, 6), (102,))
    for number in (1, 2, 3, 4):
        end(world, number, SIZE)
    # when
    for number in (5, 6):
        world.place(number, size=SIZE)
    # then
    assert chosen(world) == task_id(102)


def test_only_some_files_are_on_their_way_at_once() -> None:
    world = a_world()
    small = SIZE // 10
    files = tuple(range(1, 10 * ROOM + 1))
    for number in files:
        world.assign(MAKE, number, (), (number,))
    for number, size in ((500, 3 * SIZE), (501, small)):
        world.place(number, source=LATER, size=size)
    world.assign(READ, 1001, (500,), (1001,), priority=1)
    world.assign(READ, 1002, (*files, 501), (1002,))
    for number in files:
        end(world, number, small)
    for number, size in ((500, 3 * SIZE), (501, small)):
        world.place(number, size=size)
    assert chosen(world) == task_id(1001)
    assert len(world.sends) == AT_ONCE


def test_a_far_store_that_refuses_is_asked_again_later() -> None:
    world = crossed()
    for number in list(world.sends):
        world.sent(number, "it is full")
    assert not world.sends
    assert row_of(world, 3) is row_of(world, 4) is ObjectRow.HELD
    world.tick(RETRY_AFTER + 0.1)
    assert world.sends
    move_all(world)
    assert running(world) == [task_id(101)]


def test_inputs_of_tasks_that_are_held_back_leave_for_what_the_first_one_makes() -> None:
    world = a_world()
    make(world, 1)
    world.assign(CHANGE, 200, (1,), (200,))
    end(world, 200, SIZE)  # now it is known what such tasks make
    world.drop(1, 200)
    for number in (1, 2, 3, 4):
        world.assign(LOAD, number, (), (number,))
    changes = {10 * number + time: number for time in (1, 2) for number in (1, 2, 3, 4)}
    for number in sorted(changes):
        world.assign(CHANGE, number, (changes[number],), (number,))
    for number in (1, 2, 3, 4):
        end(world, number, SIZE)
    assert sent_objects(world) == [object_id(4)]
    tasks = world.reactor.state.sessions
    send_all(world)
    rows = {task.id: task.row for session in tasks.values() for task in session.tasks.values()}
    assert rows[task_id(41)] is rows[task_id(42)] is TaskRow.WAITING
    assert running(world) == [task_id(11)]
    ended = work_through(world, dict.fromkeys(changes, SIZE))
    assert ended == [*sorted(changes)]


def work_through(world: World, sizes: dict[int, int]) -> list[int]:
    """All tasks run; each round starts at least one, and no object is copied twice.

    Gives the tasks in the order of their ends.
    """
    ended: list[int] = []
    copied: list[ObjectId] = []
    while len(ended) < len(sizes):
        copied += move_all(world)
        assert len(set(copied)) == len(copied)
        started = [task - task_id(0) for task in running(world)]
        assert started, f"{len(ended)} of {len(sizes)} tasks have run, and nothing goes on"
        for number in started:
            end(world, number, sizes[number])
        ended += started
    return ended


objects = st.integers(1, 7)
reads = st.sets(objects, min_size=1, max_size=3)
made = st.sampled_from([0, SIZE])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(reads, made), min_size=1, max_size=12))
def test_whatever_tasks_read_all_of_them_run(tasks: list[tuple[set[int], int]]) -> None:
    """Each fits alone: three files are read and one is made, and there is room for four."""
    world = a_world()
    for number in range(1, 8):
        world.assign(LOAD, number, (), (number,))
    sizes: dict[int, int] = dict.fromkeys(range(1, 8), SIZE)
    for place, (inputs, size) in enumerate(tasks):
        number = 100 + place
        sizes[number] = size
        kind = CHANGE if size else READ
        world.assign(kind, number, tuple(sorted(inputs)), (number,))
    assert set(work_through(world, sizes)) == set(sizes)
