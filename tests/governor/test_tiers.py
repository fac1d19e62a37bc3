"""Which files lie in shared memory, and which of them go to the disk."""

from __future__ import annotations

from math import inf
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rain.base.resources import Resources
from rain.governor.core.effects import CopyToDisk, DeleteFiles, DropCopy, Effect, LeaveMemory
from rain.governor.core.results import Made, PassedOn, Stored
from rain.governor.core.tiers import HIGH_TENTHS, LOW_TENTHS, RETRY_AFTER, Tiers
from tests.governor.words import builtin_kind, object_id
from tests.governor.world import World, stored

FULL = "no space left"


def a_world(budget: int = 1000, memory: int = 0) -> World:
    return World(Resources(4), linger_seconds=0, tiers=Tiers(budget, memory))


def make(world: World, number: int, size: int = 100) -> int:
    """An object that a task has made here in shared memory; its file."""
    return make_of(world, number, stored(world, size, shared=True))


def make_of(world: World, number: int, made: Made, inputs: tuple[int, ...] = ()) -> int:
    before = set(world.runs)
    world.assign(builtin_kind(), number + 1000, inputs, (number,))
    (run,) = set(world.runs) - before
    world.end_run(run, [made])
    target = world.reactor.find(object_id(number))
    assert target is not None
    assert isinstance(target.content, int)
    return target.content


def copies(effects: list[Effect]) -> list[int]:
    return [effect.file for effect in effects if isinstance(effect, CopyToDisk)]


def test_nothing_leaves_below_the_high_mark() -> None:
    world = a_world()
    for number in range(HIGH_TENTHS):
        make(world, number + 10)
    assert world.copies == []
    assert world.reactor.tiers.room == 200


def test_above_it_the_oldest_are_copied_down_to_the_low_mark() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    assert world.copies == files[: HIGH_TENTHS + 1 - LOW_TENTHS]
    for file in list(world.copies):
        assert LeaveMemory(file) in world.copied(file)
    assert world.reactor.tiers.used == 100 * LOW_TENTHS
    assert world.on_disk == set(files[:3])


def test_a_file_that_leaves_may_be_kept_for_a_while_to_be_written_over() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    assert not world.reactor.spares.is_awake
    world.copied(files[0])
    assert world.reactor.spares.is_awake


def test_what_was_read_last_leaves_last() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS)]
    make_of(world, 80, stored(world, 1), (10,))  # reads the oldest
    make(world, 90)
    assert world.copies == files[1:4]


def test_what_tasks_wait_for_leaves_last() -> None:
    world = a_world()
    world.place(70)  # never comes
    files = [make(world, number + 10) for number in range(HIGH_TENTHS)]
    world.assign(builtin_kind(), 2000, (10, 11, 70), (2001,))
    make(world, 90)
    assert world.copies == files[2:5]


def test_what_a_running_task_reads_stays() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS)]
    world.assign(builtin_kind(), 2000, (10, 12), (2001,))
    make(world, 90)
    assert world.copies == [files[1], *files[3:5]]


def test_what_the_cache_copies_stays() -> None:
    # given: a task has passed on a large input, which the cache keeps as its output
    world = a_world()
    large = make(world, 10, 700)
    world.assign(builtin_kind(7, cache="own"), 1000, (10,), (5,))
    (look_up,) = world.look_ups
    world.miss(look_up)
    (run,) = world.runs
    world.end_run(run, [Made(PassedOn(object_id(10)))])
    assert [keep.outputs[0].content for keep in world.keeps.values()] == [large]
    # when
    small = make(world, 11, 200)
    # then
    assert world.copies == [small]


def test_a_task_that_begins_while_its_input_is_copied_keeps_its_path() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    world.assign(builtin_kind(), 2000, (10,), (2001,))
    assert world.copied(files[0]) == [DropCopy(files[0])]
    assert world.on_disk == set()


def test_the_copy_of_an_object_that_has_gone_is_dropped() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    assert DeleteFiles([files[0]]) in world.drop(10)
    assert world.copied(files[0]) == [DropCopy(files[0])]


def test_a_file_that_has_left_is_deleted_with_its_object() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    world.copied(files[0])
    assert DeleteFiles([files[0]]) in world.drop(10)
    assert world.reactor.state.objects.files.on_disk == set()


def test_a_full_disk_is_tried_again_later_or_when_something_goes() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    for file in list(world.copies):
        assert copies(world.copied(file, FULL)) == []
    assert copies(world.tick()) == []
    assert copies(world.tick(RETRY_AFTER)) == files[:3]
    for file in list(world.copies):
        world.copied(file, FULL)
    world.place(20, b"x")
    assert copies(world.tick()) == []
    make(world, 50)
    world.drop(18)
    assert copies(world.effects) == files[:3]


def test_what_is_passed_on_lies_there_once() -> None:
    world = a_world()
    file = make(world, 10)
    assert make_of(world, 11, Made(PassedOn(object_id(10))), (10,)) == file
    assert world.reactor.tiers.used == 100
    world.drop(10)
    assert world.reactor.tiers.used == 100
    world.drop(11)
    assert world.reactor.tiers.used == 0


def test_what_is_passed_on_from_the_disk_stays_there() -> None:
    world = a_world()
    files = [make(world, number + 10) for number in range(HIGH_TENTHS + 1)]
    world.copied(files[0])
    used = world.reactor.tiers.used
    make_of(world, 50, Made(PassedOn(object_id(10))), (10,))
    assert world.reactor.tiers.used == used
    world.drop(10)
    world.drop(50)
    assert world.reactor.tiers.used == used


def test_what_lingers_goes_before_anything_is_copied() -> None:
    world = World(Resources(4), linger_seconds=5, tiers=Tiers(1000))
    for number in range(HIGH_TENTHS):
        make(world, number + 10)
    world.drop(17)
    make(world, 90)
    assert world.copies == []
    assert world.reactor.find(object_id(17)) is None


def test_when_memory_is_short_less_may_lie_there() -> None:
    world = a_world(memory=10_000)
    for number in range(5):
        make(world, number + 10)
    world.memory = 1300  # less a tenth of the machine: 300
    world.tick()
    assert world.reactor.tiers.room == 300
    world.memory = 900
    world.tick()
    assert world.reactor.tiers.room == 0
    assert len(world.copies) == 3  # of 500 bytes 400 are allowed, and 240 are the low mark


def test_the_room_is_shared_by_all_who_may_make_a_file() -> None:
    world = a_world()
    assert world.reactor.room_for_each() == 1000
    world.place(10)
    world.place(11)
    assert world.reactor.room_for_each() == 500


def test_a_fetched_file_may_lie_there() -> None:
    world = a_world()
    world.place(10)
    world.fetched(1, Stored(world.new_file(shared=True), 400))
    assert world.reactor.tiers.used == 400


def test_bytes_and_files_on_the_disk_are_not_counted() -> None:
    world = a_world()
    world.place(10, b"bytes")
    make_of(world, 11, stored(world))
    assert world.reactor.tiers.used == 0


@given(st.integers(0, 2**32))
def test_random_lives_keep_within_the_budget_and_lose_nothing(seed: int) -> None:
    """The world and the checker look at every turn."""
    random = Random(seed)
    budget = random.choice((300, 1000))
    world = World(
        Resources(3), linger_seconds=random.choice((0, 1)), tiers=Tiers(budget, memory=2000)
    )
    number, alive = 10, list[int]()
    for _ in range(60):
        world.memory = random.choice((inf, 2000, 500, 200))
        choice = random.randrange(6)
        if choice <= 1 and len(world.runs) < 3:
            number += 1
            inputs = tuple(random.sample(alive, min(len(alive), random.randrange(3))))
            world.assign(builtin_kind(), number + 1000, inputs, (number,))
            alive.append(number)
        elif choice == 2 and world.runs:
            run = random.choice(list(world.runs))
            passed = [one.id for one in world.runs[run].inputs]
            if passed and random.random() < 0.3:
                world.end_run(run, [Made(PassedOn(random.choice(passed)))])
            else:
                shared = world.reactor.tiers.room >= 100
                world.end_run(run, [stored(world, 100, shared=shared)])
        elif choice == 3 and world.copies:
            world.copied(random.choice(world.copies), random.choice(("", "", FULL)))
        elif choice == 4 and alive:
            world.drop(alive.pop(random.randrange(len(alive))))
        else:
            world.tick(random.choice((0.01, 2.0)))
        assert world.reactor.tiers.used <= budget
    world.forget()
    for file in list(world.copies):
        world.copied(file)
    assert world.complete_copies == set()
    assert world.reactor.tiers.used == 0
    assert not world.reactor.tiers.copied
