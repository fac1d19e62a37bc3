"""Tasks wait while what they make has no room on the disk, and those that make room go first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.ids import TaskId
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.wire.update import TaskFailure
from rain.governor.core.back_pressure import PATIENCE, TELL_AFTER
from rain.governor.core.disk import Disk
from rain.governor.core.results import Failed, Made, Stored
from tests.governor.words import builtin_kind, object_id, task_id
from tests.governor.world import World
from tests.support.effort import examples

MIB = 1024**2
BUDGET = 100 * MIB
SIZE = 10 * MIB


def a_world(budget: int = BUDGET, cpus: int = 4) -> World:
    return World(Resources(cpus), linger_seconds=0, disk=Disk(budget))


def used(world: World) -> int:
    return world.reactor.state.objects.files.disk.used


def running(world: World) -> list[TaskId]:
    return [run.task for run in world.runs.values()]


def held(world: World) -> list[TaskId]:
    return [task.id for task in world.reactor.state.back_pressure.held]


def end(world: World, number: int, size: int | None = SIZE) -> None:
    """The task ends, and has made a file of this size if any, else nothing that is one."""
    (run,) = [run for run, effect in world.runs.items() if effect.task == task_id(number)]
    world.end_run(run, None if size is None else [Made(Stored(world.new_file(), size))])


MAKE, EAT = builtin_kind(3), builtin_kind(4)


def make(world: World, *numbers: int) -> None:
    for number in numbers:
        world.assign(MAKE, number, (), (number,))


def eat(world: World, number: int, *inputs: int) -> None:
    world.assign(EAT, number, inputs, (number,))


def a_learned_world(**options: int) -> World:
    """It knows what both kinds make, and has nothing."""
    world = a_world(**options)
    make(world, 1000)
    end(world, 1000)
    eat(world, 1001, 1000)
    end(world, 1001, None)
    world.drop(1000, 1001)
    assert used(world) == 0
    return world


def test_a_task_does_not_start_whose_output_would_not_fit() -> None:
    world = a_learned_world(cpus=20)
    make(world, *range(1, 13))
    assert running(world) == [task_id(number) for number in range(1, 9)]
    assert held(world) == [task_id(number) for number in range(9, 13)]


def test_it_starts_when_others_have_made_room() -> None:
    world = a_learned_world(cpus=20)
    make(world, *range(1, 10))
    for number in range(1, 8):
        end(world, number)
    eat(world, 30, 1)
    assert running(world) == [task_id(8), task_id(30)]
    end(world, 30, None)
    assert held(world) == [task_id(9)]  # the server has not dropped what was read
    world.drop(1)
    assert running(world) == [task_id(8), task_id(9)]


def test_what_is_expected_of_the_tasks_in_hand_is_no_room() -> None:
    world = a_learned_world(cpus=20)
    make(world, *range(1, 9))
    end(world, 1)
    assert used(world) == SIZE
    make(world, 9)
    assert held(world) == [task_id(9)]


def test_tasks_that_free_as_much_as_they_make_go_first() -> None:
    world = a_learned_world(cpus=20)
    make(world, *range(1, 9))
    for number in range(1, 8):
        end(world, number)
    make(world, 9)
    kind = builtin_kind(5)
    world.assign(kind, 31, (1,), (31,))  # its kind is not known
    end(world, 31)
    world.drop(1)
    world.assign(kind, 32, (2,), (32,))
    assert held(world) == [task_id(9)]
    assert running(world) == [task_id(8), task_id(32)]


def a_world_that_reads_an_input_twice() -> World:
    """32 does not fit, and reads what 31 reads, too, which waits for 8."""
    world = a_learned_world(cpus=20)
    make(world, *range(1, 9))
    for number in range(1, 8):
        end(world, number)
    kind = builtin_kind(5)
    world.assign(kind, 30, (1,), (30,))
    end(world, 30)
    world.drop(30)
    eat(world, 31, 1, 8)
    world.assign(kind, 32, (1,), (32,))
    return world


def test_an_input_that_others_read_too_is_not_freed() -> None:
    assert held(a_world_that_reads_an_input_twice()) == [task_id(32)]


def test_a_task_that_frees_nothing_starts_when_there_is_room_though_others_run() -> None:
    world = a_world_that_reads_an_input_twice()
    # when
    world.drop(2)
    # then
    assert running(world) == [task_id(8), task_id(32)]


def test_if_nothing_else_goes_on_what_fits_below_the_limit_does() -> None:
    world = a_learned_world()
    for number in range(1, 9):
        make(world, number)
        end(world, number)
    make(world, 9)
    assert running(world) == [task_id(9)]


def test_nothing_waits_for_a_task_that_makes_no_room() -> None:
    """A task that runs for days and reads nothing does not hold up the last ones that fit."""
    world = a_learned_world()
    for number in range(1, 9):
        make(world, number)
        end(world, number)
    world.assign(builtin_kind(9), 50, (), (50,))
    make(world, 9)
    assert task_id(9) in running(world)


def test_a_task_that_frees_data_goes_ahead_even_above_the_limit() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    kind = builtin_kind(5)
    world.assign(kind, 30, (1,), (30,))
    end(world, 30, 12 * MIB)
    world.drop(1)
    world.assign(kind, 31, (2, 3), (31,))
    assert running(world) == [task_id(31)]


def test_what_nothing_makes_room_for_is_handed_back_with_the_numbers() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    make(world, 11, 12)
    assert held(world) == [task_id(11), task_id(12)]
    world.tick(PATIENCE + 0.1)
    world.tick()
    failed = [failure for update in world.updates for failure in update.failed]
    assert [one.task for one in failed] == [task_id(11), task_id(12)]
    assert {one.cause for one in failed} == {RunCause.NOT_STARTED}
    assert failed[0].message == (
        "the task makes about 10MiB, and its governor has no room for that: 100MiB of 100MiB"
        " (--disk) are in use, by data that nothing there can free"
    )


def test_patience_begins_anew_when_others_make_room() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    world.assign(MAKE, 11, (), (11,))
    world.tick(PATIENCE - 1)
    world.drop(1)  # now it fits
    assert running(world) == [task_id(11)]
    make(world, 12)
    world.tick(PATIENCE - 1)
    assert held(world) == [task_id(12)]


def test_a_transfer_waits_for_room_and_then_comes() -> None:
    world = a_learned_world()
    for number in range(1, 10):
        make(world, number)
        end(world, number)
    world.place(40, size=SIZE * 2)
    assert not world.fetches
    world.drop(1)
    assert [fetch.object for fetch in world.fetches.values()] == [object_id(40)]


def test_readers_of_what_never_has_room_are_handed_back() -> None:
    world = a_learned_world()
    for number in range(1, 10):
        make(world, number)
        end(world, number)
    world.place(40, size=SIZE * 2)
    eat(world, 41, 40)
    world.tick(PATIENCE + 0.1)
    world.tick()
    (failure,) = [failure for update in world.updates for failure in update.failed]
    assert (failure.task, failure.cause) == (task_id(41), RunCause.NOT_STARTED)
    assert "it has 20MiB, and there is no room: 90MiB of 100MiB (--disk)" in failure.message


def failures(world: World) -> list[TaskFailure]:
    return [failure for update in world.updates for failure in update.failed]


def test_what_is_larger_than_the_whole_disk_fails_with_the_sizes_and_is_not_kept() -> None:
    world = a_world()
    make(world, 1)
    end(world, 1, BUDGET + MIB)
    (failure,) = failures(world)
    assert (failure.cause, failure.disk) == (RunCause.DISK, BUDGET + MIB)
    assert failure.message == (
        "what the task has made has 101MiB, and its governor may have 100MiB of data in all"
        " (--disk)"
    )
    assert used(world) == 0
    assert not world.files

    # and others of its kind are not taken for as large
    make(world, 2)
    assert running(world) == [task_id(2)]


@pytest.mark.parametrize(
    ("size", "cause", "told"),
    [(BUDGET + 1, RunCause.DISK, BUDGET + 1), (BUDGET, RunCause.NOT_STARTED, 0)],
)
def test_what_found_no_room_fails_for_good_only_if_the_whole_disk_has_none(
    size: int, cause: RunCause, told: int
) -> None:
    world = a_world()
    make(world, 1)
    (run,) = world.runs
    world.end_run(run, Failed("cannot write it", cause=RunCause.NOT_STARTED, disk=size))
    (failure,) = failures(world)
    assert (failure.cause, failure.disk) == (cause, told)


def test_an_input_that_is_larger_than_the_whole_disk_is_not_waited_for() -> None:
    world = a_world()
    world.place(40, size=BUDGET + MIB)
    eat(world, 41, 40)
    (failure,) = failures(world)
    assert (failure.task, failure.cause) == (task_id(41), RunCause.DISK)
    assert failure.message.startswith("what the task reads has 101MiB")
    assert not world.fetches


def test_inputs_that_never_fit_together_fail_their_task_when_nothing_can_make_room() -> None:
    world = a_world()
    for number in (40, 41):
        world.place(number, size=60 * MIB)
    eat(world, 42, 40, 41)
    (fetch,) = world.fetches
    world.fetched(fetch, Stored(world.new_file(), 60 * MIB))
    assert not failures(world)
    world.tick(PATIENCE + 0.1)
    world.tick()
    (failure,) = failures(world)
    assert (failure.task, failure.cause, failure.disk) == (task_id(42), RunCause.DISK, 120 * MIB)


def test_the_server_hears_why_tasks_wait_and_when_they_do_not_any_more() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    make(world, 11)
    assert not any(update.holds_back for update in world.updates)
    world.tick(TELL_AFTER)
    world.tick()
    assert world.updates[-1].holds_back == (
        "its disk for data is full (100MiB of 100MiB (--disk) are in use)"
    )
    world.drop(1)
    world.tick()
    assert world.updates[-1].holds_back == ""


def test_the_server_hears_while_only_others_can_make_room() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    make(world, 11)
    assert not any(update.is_full for update in world.updates)
    world.tick(TELL_AFTER)
    world.tick()
    assert world.updates[-1].is_full

    # The task is handed back, which makes no room.
    world.tick(PATIENCE)
    world.tick()
    assert held(world) == []
    assert (world.updates[-1].holds_back, world.updates[-1].is_full) == ("", True)
    world.drop(1)
    world.tick()
    assert not world.updates[-1].is_full


def test_a_disk_of_which_others_make_room_is_not_full() -> None:
    world = a_learned_world(cpus=20)
    make(world, *range(1, 12))
    for number in range(1, 8):
        end(world, number)
    world.tick(TELL_AFTER)
    world.tick()
    assert world.updates[-1].holds_back
    assert not world.updates[-1].is_full  # what still runs may free something


def test_what_was_handed_back_may_come_again_when_others_have_left_the_file_system() -> None:
    world = a_learned_world()
    make(world, 1)
    end(world, 1)
    world.free = 5 * MIB
    make(world, 2)
    world.tick(PATIENCE + 0.1)
    world.tick()
    assert world.updates[-1].is_full
    world.free = 50 * MIB
    world.tick()
    world.tick()
    assert not world.updates[-1].is_full


def test_data_that_lingers_makes_room_first() -> None:
    world = World(Resources(4), linger_seconds=60, disk=Disk(BUDGET))
    for number in range(1, 9):
        make(world, number)
        end(world, number)
    world.drop(1, 2)
    assert used(world) == 8 * SIZE
    make(world, 9)
    assert running(world) == [task_id(9)]
    assert used(world) == 6 * SIZE


def test_a_file_of_several_objects_counts_once() -> None:
    world = a_world()
    make(world, 1)
    end(world, 1)
    file = world.reactor.state.objects.files.disk
    assert (used(world), list(file.sizes.values())) == (SIZE, [SIZE])


def test_what_is_held_back_can_be_stopped_cancelled_and_asked_back() -> None:
    world = a_learned_world()
    for number in range(1, 11):
        make(world, number)
        end(world, number)
    make(world, 11, 12, 13, 14)
    assert held(world) == [task_id(number) for number in (11, 12, 13, 14)]
    world.stop(11)
    world.cancel(12)
    world.ask_back(13)
    assert world.returned() == [task_id(13)]
    assert held(world) == [task_id(14)]
    world.forget()
    assert held(world) == []


def test_a_full_file_system_bounds_the_data_whatever_the_budget() -> None:
    world = a_learned_world()
    make(world, 1)
    end(world, 1)
    world.free = 5 * MIB
    make(world, 2)
    world.tick()
    assert world.reactor.state.objects.files.disk.limit == 15 * MIB
    assert held(world) == [task_id(2)]


@settings(max_examples=examples(15))
@given(st.lists(st.integers(SIZE // 2, SIZE), min_size=10, max_size=50), st.integers(1, 8))
def test_ten_budgets_of_data_pass_through_one(sizes: list[int], cpus: int) -> None:
    """Producers and consumers, each pair after the other; the most that lies here is counted."""
    budget = BUDGET // 2
    world = a_learned_world(cpus=cpus, budget=budget)
    for number in range(1, len(sizes) + 1):
        make(world, number)
        eat(world, 500 + number, number)
    most = ended = 0
    while ended < 2 * len(sizes):
        assert world.runs, "nothing runs, and not everything has ended"
        run, effect = next(iter(world.runs.items()))
        number = effect.task - task_id(0)
        if number > 500:
            world.end_run(run)
            world.drop(number - 500, number)
        else:
            world.end_run(run, [Made(Stored(world.new_file(), sizes[number - 1]))])
        most = max(most, used(world))
        ended += 1
    assert most <= budget
    assert used(world) == 0
