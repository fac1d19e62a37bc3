"""What leaves the disk for the far store, when, and how it comes back."""

from __future__ import annotations

from rain.base.ids import ObjectId, SessionId
from rain.base.resources import Resources
from rain.governor.core.disk import Disk
from rain.governor.core.effects import DeleteFar, SendFar
from rain.governor.core.offloading import AT_ONCE, RETRY_AFTER
from rain.governor.core.results import Made, Stored
from rain.governor.core.tables import ObjectRow
from tests.governor.words import builtin_kind, object_id, task_id
from tests.governor.world import World

MIB = 1024**2
SIZE = 10 * MIB
MAKE, EAT = builtin_kind(3), builtin_kind(4)


def a_world() -> World:
    """A disk for ten files, of which eight make it short."""
    return World(Resources(20), linger_seconds=0, disk=Disk(10 * SIZE, spills=True))


def make(world: World, *numbers: int) -> None:
    for number in numbers:
        world.assign(MAKE, number, (), (number,))
        end(world, number, SIZE)


def end(world: World, number: int, size: int = 0) -> None:
    (run,) = [run for run, effect in world.runs.items() if effect.task == task_id(number)]
    world.end_run(run, [Made(Stored(world.new_file(), size))] if size else None)


def sent_objects(world: World) -> list[ObjectId]:
    files = {
        target.content: target.id
        for session in world.reactor.state.sessions.values()
        for target in session.objects.values()
    }
    return [files[effect.file] for effect in world.sends.values()]


def row_of(world: World, number: int) -> ObjectRow:
    return world.reactor.state.sessions[SessionId(1)].objects[object_id(number)].row


def send_all(world: World) -> None:
    while world.sends:
        world.sent(next(iter(world.sends)))


def test_nothing_leaves_while_the_disk_has_room() -> None:
    world = a_world()
    make(world, *range(1, 9))
    assert not world.sends


def test_above_the_mark_the_least_recently_used_leave() -> None:
    world = a_world()
    make(world, *range(1, 9))
    world.assign(EAT, 100, (1,), (100,))  # it reads the oldest one
    end(world, 100)
    make(world, 9)
    assert sent_objects(world) == [object_id(2), object_id(3), object_id(4)]
    send_all(world)
    assert row_of(world, 2) is ObjectRow.FAR
    assert world.reactor.state.objects.files.disk.used == 6 * SIZE


def test_only_some_are_on_their_way_at_once() -> None:
    world = a_world()
    world.reactor.state.objects.files.disk.budget = 100 * SIZE
    world.reactor.state.objects.files.disk.limit = 100 * SIZE
    make(world, *range(1, 82))
    assert len(world.sends) == AT_ONCE


def test_what_lingers_is_not_sent_away() -> None:
    world = World(Resources(20), linger_seconds=60, disk=Disk(10 * SIZE, spills=True))
    make(world, *range(1, 9))
    world.place(9, size=SIZE)
    world.drop(1)
    (fetch,) = world.fetches
    world.fetched(fetch, Stored(world.new_file(), SIZE))
    assert row_of(world, 1) is ObjectRow.LINGERING
    assert sent_objects(world) == [object_id(2), object_id(3), object_id(4)]


def far_world() -> World:
    """The first three objects are far."""
    world = a_world()
    make(world, *range(1, 10))
    send_all(world)
    assert [row_of(world, number) for number in (1, 2, 3, 4)] == [ObjectRow.FAR] * 3 + [
        ObjectRow.HELD
    ]
    return world


def test_a_task_that_reads_a_far_object_waits_until_it_is_here_again() -> None:
    world = far_world()
    world.assign(EAT, 100, (1,), (100,))
    (fetch,) = world.fetches.values()
    assert (fetch.object, fetch.source) == (object_id(1), "far:1")
    assert not world.runs
    located = sum(len(update.located) for update in world.updates)
    world.fetched(fetch.fetch, Stored(world.new_file(), SIZE))
    assert [run.task for run in world.runs.values()] == [task_id(100)]
    assert sum(len(update.located) for update in world.updates) == located  # it knows that


def test_what_was_far_before_leaves_again_without_a_copy() -> None:
    world = far_world()
    world.assign(EAT, 100, (1,), (100,))
    (fetch,) = world.fetches
    world.fetched(fetch, Stored(world.new_file(), SIZE))
    end(world, 100)
    for number in range(20, 30):
        make(world, number)
        send_all(world)
    assert row_of(world, 1) is ObjectRow.FAR
    assert world.all_sent.count(1) == 1


def test_a_far_object_that_cannot_be_read_is_told_to_the_server() -> None:
    world = far_world()
    world.assign(EAT, 100, (1,), (100,))
    (fetch,) = world.fetches
    effects = world.fetch_failed(fetch)
    assert DeleteFar([1]) in effects
    assert row_of(world, 1) is ObjectRow.ABSENT
    assert world.updates[-1].unfetched == [object_id(1)]


def test_the_file_goes_with_its_object() -> None:
    world = far_world()
    assert DeleteFar([1]) in world.drop(1)
    assert DeleteFar([2, 3]) in world.forget()
    assert not world.far


def test_an_object_that_goes_while_it_is_copied_leaves_nothing() -> None:
    world = a_world()
    make(world, *range(1, 10))
    world.drop(1)
    assert DeleteFar([1]) in world.sent(1)
    assert world.far == set()


def test_a_directory_that_went_while_it_was_copied_is_no_trouble_for_others() -> None:
    world = a_world()
    make(world, *range(1, 10))
    world.drop(1)
    world.sent(1, "the directory was removed")  # its files cannot stay readable
    assert not world.reactor.state.objects.offloading.trouble
    send_all(world)
    make(world, 20, 21, 22)
    assert world.sends  # nobody waits until the trouble has passed
    assert 1 not in world.far


def test_an_object_that_is_read_while_it_is_copied_stays() -> None:
    world = a_world()
    make(world, *range(1, 10))
    world.assign(EAT, 100, (1,), (100,))
    world.sent(1)
    assert row_of(world, 1) is ObjectRow.HELD
    end(world, 100)
    send_all(world)
    make(world, 20, 21)
    assert row_of(world, 1) is ObjectRow.HELD  # it was used since
    send_all(world)
    assert world.all_sent.count(1) == 1


def test_an_object_that_is_made_again_is_not_the_one_that_is_far() -> None:
    world = far_world()
    world.assign(MAKE, 200, (), (1,))
    assert DeleteFar([1]) in world.effects
    assert row_of(world, 1) is ObjectRow.MAKING


def test_a_store_that_refuses_is_asked_again_later_and_the_reason_is_told() -> None:
    world = a_world()
    make(world, *range(1, 10))
    for number in list(world.sends):
        world.sent(number, "it is full")
    assert not world.sends
    assert world.reactor.state.objects.offloading.trouble == "it is full"
    world.tick(RETRY_AFTER + 0.1)
    assert len(world.sends) == 3
    send_all(world)
    assert world.reactor.state.objects.offloading.trouble == ""


def test_tasks_that_wait_for_room_make_others_leave() -> None:
    world = a_world()
    make(world, *range(1, 8))
    world.assign(builtin_kind(5), 50, (), (50,))
    end(world, 50, 4 * SIZE)
    send_all(world)
    world.assign(builtin_kind(5), 51, (), (51,))
    while world.sends:
        send_all(world)
    assert [run.task for run in world.runs.values()] == [task_id(51)]


def test_without_a_far_store_nothing_leaves() -> None:
    world = World(Resources(20), linger_seconds=0, disk=Disk(10 * SIZE))
    make(world, *range(1, 11))
    assert not any(isinstance(effect, SendFar) for effect in world.effects)
