"""With how much memory tasks are admitted: all or nothing, and the first to come goes first."""

from __future__ import annotations

from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.results import Stored
from tests.governor.words import python_kind, task_id
from tests.governor.world import World

MIB = 1024**2
CAPACITY = 300


def declaring(number: int, mib: int) -> TaskKind:
    return python_kind(number, outputs=0, resources=Resources.of({"memory": mib * MIB}))


def a_world(cpus: int = 4) -> World:
    """Four executors that are ready, and 300 MiB of memory."""
    return World(Resources(cpus, (("memory", CAPACITY * MIB),)))


def get_ready(world: World) -> None:
    for number, executor in list(world.executors.items()):
        if not executor.ready:
            world.ready(number)


def assign(world: World, number: int, mib: int) -> None:
    """A task that declares so much; its kind has a number of its own."""
    world.assign(declaring(1000 + number, mib), number)
    get_ready(world)


def running(world: World) -> list[int]:
    """The tasks that have memory, by their numbers."""
    calls = [executor.calls for executor in world.reactor.state.pool.busy.values()]
    return sorted(task.id - task_id(0) for tasks in calls for task in tasks)


def finish(
    world: World, number: int, *, peak: int = 0, duration: float = 0.001, mapped: int = 0
) -> None:
    for executor in world.reactor.state.pool.busy.values():
        if executor.calls[0].id == task_id(number):
            world.start_next(executor.id)
            world.answer(executor.id, duration=duration, peak=peak, mapped=mapped)
            world.collect(executor.id)
            get_ready(world)
            return
    raise AssertionError(f"{number} does not run")


def test_a_small_one_does_not_overtake_the_large_one_that_waits_for_memory() -> None:
    world = a_world()
    assign(world, 1, 200)
    assign(world, 2, 150)
    assign(world, 3, 50)
    assert running(world) == [1]
    finish(world, 1)
    assert running(world) == [2, 3]


def test_when_the_first_one_that_waits_is_stopped_the_next_one_goes() -> None:
    world = a_world()
    assign(world, 1, 200)
    assign(world, 2, 150)
    assign(world, 3, 50)
    world.stop(2)
    get_ready(world)
    assert running(world) == [1, 3]


def test_two_that_do_not_fit_together_never_overlap() -> None:
    world = a_world()
    for number in range(1, 5):
        assign(world, number, 200)
    for number in range(1, 5):
        assert running(world) == [number]
        finish(world, number)


def test_what_needs_no_memory_goes_on_while_others_wait_for_it() -> None:
    world = a_world()
    assign(world, 1, 200)
    assign(world, 2, 200)
    world.assign(python_kind(5, outputs=0), 3)
    get_ready(world)
    assert running(world) == [1, 3]


def test_what_can_never_fit_fails_at_once_with_the_amount() -> None:
    world = a_world()
    assign(world, 1, CAPACITY + 1)
    (failed,) = world.updates[-1].failed
    assert failed.message == (
        f"the task needs more than this governor has: 1 cpus, {(CAPACITY + 1) * MIB} memory"
    )


def learned(world: World, *numbers: int, peak: int) -> TaskKind:
    """Tasks of one kind that declares nothing, of which the first has had so much."""
    kind = python_kind(7, outputs=0)
    world.assign(kind, 1)
    get_ready(world)
    finish(world, 1, peak=peak, duration=1.0)
    orders = Orders()
    for number in numbers:
        world.assign(kind, number, orders=orders, send=False)
    world.order(orders)
    get_ready(world)
    return kind


def test_what_one_task_has_needed_is_set_aside_for_others_of_its_kind() -> None:
    world = a_world()
    learned(world, 2, 3, 4, peak=140 * MIB)
    assert running(world) == [2, 3]
    finish(world, 2)
    assert running(world) == [3, 4]


def test_those_that_wait_already_need_as_much() -> None:
    """All four cpus are busy, and what the first one has had is known when it ends."""
    world = a_world(cpus=2)
    kind = python_kind(7, outputs=0)
    for number in range(1, 6):
        world.assign(kind, number)
    get_ready(world)
    assert running(world) == [1, 2]
    finish(world, 1, peak=290 * MIB, duration=1.0)
    assert running(world) == [2, 3]  # nothing is set aside for what ran before
    finish(world, 2, peak=290 * MIB, duration=1.0)
    assert running(world) == [3]


def test_what_needs_far_less_than_its_share_is_not_counted() -> None:
    world = a_world()
    learned(world, 2, 3, 4, 5, peak=CAPACITY * MIB // 4 // 8)
    assert running(world) == [2, 3, 4, 5]
    assert world.reactor.state.pool.free.others == {"memory": CAPACITY * MIB}


def test_short_tasks_are_never_measured() -> None:
    world = a_world()
    kind = python_kind(7, outputs=0)
    world.assign(kind, 1)
    get_ready(world)
    world.sample(200 * MIB)
    finish(world, 1, duration=0.01)
    world.assign(kind, 2)
    get_ready(world)
    assert world.reactor.state.pool.free.others == {"memory": CAPACITY * MIB}
    assert world.updates[-1].finished.peaks in ([], [0])


def test_inputs_that_are_mapped_are_no_memory_of_the_task() -> None:
    """The kernel counts what a process has mapped; data counts for the store."""
    # given
    world = a_world()
    world.place(50)
    (fetch,) = world.fetches
    world.fetched(fetch, Stored(world.new_file(), 100 * MIB))

    # when
    world.assign(python_kind(7, outputs=0), 1, (50,))
    get_ready(world)
    finish(world, 1, peak=130 * MIB, duration=1.0)

    # then
    assert world.updates[-1].finished.peaks == [30 * MIB]


def test_files_that_a_task_was_seen_with_are_no_memory_of_the_task() -> None:
    """As a table that a shuffle puts together in files, which the kernel can write out and drop."""
    world = a_world()
    world.place(50)
    (fetch,) = world.fetches
    world.fetched(fetch, Stored(world.new_file(), 20 * MIB))
    kind = python_kind(7, outputs=0)

    # of the files that it was seen with, 10 MiB are there still, which the peak leaves out
    world.assign(kind, 1, (50,))
    get_ready(world)
    world.sample(25 * MIB, mapped=(110 * MIB,))
    world.sample(25 * MIB, mapped=(60 * MIB,))
    finish(world, 1, peak=130 * MIB, duration=1.0, mapped=10 * MIB)
    assert world.updates[-1].finished.peaks == [30 * MIB]

    # what was seen of its own counts in any case
    world.assign(kind, 2, (50,))
    get_ready(world)
    world.sample(90 * MIB, mapped=(110 * MIB,))
    finish(world, 2, peak=130 * MIB, duration=1.0, mapped=10 * MIB)
    assert world.updates[-1].finished.peaks == [90 * MIB]


def test_what_the_server_knows_of_a_task_is_set_aside_for_it() -> None:
    world = a_world()
    kind = python_kind(7, outputs=0)
    for number in (1, 2):
        world.assign(kind, number, need=200 * MIB)
    get_ready(world)
    assert running(world) == [1]


def test_what_needs_more_than_there_is_gets_everything() -> None:
    world = a_world()
    world.assign(python_kind(7, outputs=0), 1, need=1000 * MIB)
    get_ready(world)
    assert running(world) == [1]
    assert world.reactor.state.pool.free.others == {"memory": 0}
    finish(world, 1)
    assert world.reactor.state.pool.free.others == {"memory": CAPACITY * MIB}


def test_when_all_that_has_memory_waits_for_other_tasks_one_may_start_nevertheless() -> None:
    world = a_world()
    assign(world, 1, 250)
    assign(world, 2, 250)
    assign(world, 3, 250)
    world.start_next(1)
    assert running(world) == [1]
    world.block(1)
    get_ready(world)
    assert running(world) == [1, 2]
    world.resume(1)
    finish(world, 2)
    assert running(world) == [1]


def test_tasks_inside_of_tasks_are_admitted_without() -> None:
    world = a_world()
    kind = python_kind(7, outputs=0, depth=1)
    world.assign(kind, 1)
    get_ready(world)
    finish(world, 1, peak=200 * MIB, duration=1.0)
    for number in (2, 3):
        world.assign(kind, number)
    get_ready(world)
    assert running(world) == [2, 3]


def test_without_a_known_memory_nothing_is_set_aside() -> None:
    world = World(Resources(2))
    learned(world, 2, 3, peak=140 * MIB)
    assert running(world) == [2, 3]


def test_groups_of_needs_go_with_their_tasks() -> None:
    world = a_world()
    learned(world, 2, 3, peak=140 * MIB)
    world.assign(python_kind(7, outputs=0), 4, need=290 * MIB)
    for number in (2, 3, 4):
        finish(world, number)
    world.forget()
    world.tick()
    assert not world.reactor.state.dispatch.groups


def test_what_others_have_is_given_to_no_task() -> None:
    """Of 300 MiB the one that runs has 100, and 100 more can be had, of which 15 are kept free."""
    world = a_world()
    assign(world, 1, 100)
    world.sample(100 * MIB, left=100 * MIB)
    assign(world, 2, 120)
    assert running(world) == [1]
    world.sample(100 * MIB, left=180 * MIB)
    get_ready(world)
    assert running(world) == [1, 2]


def test_one_task_starts_if_nothing_runs_that_could_give_memory_back() -> None:
    world = a_world()
    assign(world, 1, 100)
    finish(world, 1)
    world.sample(left=0)
    assign(world, 2, 200)
    assign(world, 3, 10)
    assert running(world) == [2]
    finish(world, 2)
    assert running(world) == [3]
