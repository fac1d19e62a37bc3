"""Calls that wait for other tasks lend their cpus to deeper ones."""

from rain.base.resources import ONE_CPU, Resources
from rain.base.wire.orders import Orders
from rain.governor.core.resources import PATIENCE
from tests.governor.busy import FUNCTION
from tests.governor.words import python_kind, task_id
from tests.governor.world import World


def a_world(cpus: int = 1, most_blocked: int | None = None) -> World:
    world = World(Resources(cpus), most_blocked=most_blocked)
    world.place(FUNCTION, b"function")
    return world


def assign(world: World, number: int, depth: int, needs: Resources = ONE_CPU) -> None:
    kind = python_kind(50 + depth + 10 * needs.cpus, depth=depth, resources=needs)
    world.assign(kind, number, (FUNCTION,), (number + 10_000,))


def begin(world: World, executor: int) -> None:
    world.ready(executor)
    assert world.start_next(executor)


def test_a_deeper_task_runs_on_the_cpu_of_the_one_that_waits() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    assign(world, 101, depth=1)
    assert list(world.executors) == [1]
    world.block(1)
    begin(world, 2)
    assert world.running_on(2) == task_id(101)


def test_a_task_that_is_not_deeper_has_to_wait_for_it() -> None:
    world = a_world()
    assign(world, 100, depth=1)
    assign(world, 101, depth=1)
    begin(world, 1)
    world.block(1)
    assert list(world.executors) == [1]
    world.resume(1)
    world.answer(1)
    world.collect(1)
    assert world.start_next(1)
    assert world.running_on(1) == task_id(101)


def test_the_deepest_ready_task_goes_first() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    for number, depth in ((101, 0), (102, 1), (103, 2)):
        assign(world, number, depth)
    world.block(1)
    begin(world, 2)
    assert world.running_on(2) == task_id(103)


def test_no_turn_is_due_for_a_task_that_was_refused_and_has_gone() -> None:
    # given
    world = a_world()
    assign(world, 100, depth=1)
    assign(world, 101, depth=1)
    begin(world, 1)
    world.block(1)

    # when
    world.stop(101)
    world.tick(2 * PATIENCE)

    # then: the governor need not make one turn after the other until the first goes on
    assert world.reactor.next_time() > world.now


def test_when_nothing_else_could_move_a_task_that_is_not_deeper_runs_after_all() -> None:
    # given: the first may wait for the second
    world = a_world()
    assign(world, 100, depth=1)
    assign(world, 101, depth=1)
    begin(world, 1)
    world.block(1)

    # when
    world.tick(PATIENCE / 2)
    assert list(world.executors) == [1]
    assert world.reactor.next_time() <= world.now + PATIENCE / 2

    # then
    world.tick(PATIENCE)
    begin(world, 2)
    assert world.running_on(2) == task_id(101)


def test_a_free_cpu_is_not_kept_for_deeper_tasks() -> None:
    world = a_world(cpus=2)
    assign(world, 100, depth=1)
    begin(world, 1)
    world.block(1)
    assign(world, 101, depth=0)
    begin(world, 2)
    assert world.running_on(2) == task_id(101)


def test_what_goes_on_takes_its_cpus_again_and_nothing_new_starts() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    assign(world, 101, depth=1)
    assign(world, 102, depth=1)
    world.block(1)
    begin(world, 2)
    world.resume(1)
    world.answer(2)
    world.collect(2)
    assert world.running_on(2) is None
    assert not world.executors[2].calls
    world.answer(1)
    world.collect(1)
    waiting = [number for number in (1, 2) if world.start_next(number)]
    assert [world.running_on(number) for number in waiting] == [task_id(102)]


def test_what_is_queued_behind_a_call_that_waits_runs_elsewhere() -> None:
    # given: calls that are known to be short, several of them in hand
    world = a_world()
    for number in range(100, 110):
        assign(world, number, depth=0)
    begin(world, 1)
    world.answer(1)
    world.collect(1)
    assert world.start_next(1)
    assert world.executors[1].calls

    # when
    assign(world, 200, depth=1)
    world.block(1)

    # then
    assert not world.executors[1].calls
    begin(world, 2)
    assert world.running_on(2) == task_id(200)


def test_the_server_hears_of_a_start_and_then_of_the_wait() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    world.block(1)
    told = world.updates[-1]
    assert told.started_ids == told.blocked_ids == [task_id(100)]
    world.resume(1)
    assert world.updates[-1].resumed_ids == [task_id(100)]


def test_more_calls_than_the_bound_may_not_wait() -> None:
    world = a_world(cpus=2, most_blocked=1)
    for number in (100, 101):
        assign(world, number, depth=0)
    begin(world, 1)
    begin(world, 2)
    world.block(1)
    world.block(2)
    assert [world.executors[number].refused for number in (1, 2)] == [0, 1]
    assert world.blocked == {task_id(100)}


def test_a_call_that_is_stopped_while_it_waits_has_nothing_more_to_lend() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    world.block(1)
    world.stop(100)
    world.resume(1)
    world.answer(1)
    world.collect(1)
    assert world.reactor.state.pool.free.cpus == 1


def test_an_executor_that_dies_while_its_call_waits_has_nothing_more_to_lend() -> None:
    world = a_world()
    assign(world, 100, depth=0)
    begin(world, 1)
    world.block(1)
    world.die(1)
    assert world.reactor.state.pool.free.cpus == 1
    assert task_id(100) in world.failed


def test_a_task_that_waits_keeps_what_is_no_cpu() -> None:
    world = World(Resources(1, (("licence", 1),)))
    world.place(FUNCTION, b"function")
    needs = Resources(1, (("licence", 1),))
    kind = python_kind(60, resources=needs)
    world.assign(kind, 100, (FUNCTION,), (10_100,), orders=Orders())
    begin(world, 1)
    deeper = python_kind(61, resources=needs, depth=1)
    world.assign(deeper, 101, (FUNCTION,), (10_101,))
    world.block(1)
    assert list(world.executors) == [1]
