"""Which executors there are, and for whom they work."""

from rain.base.ids import TaskId
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.governor.core.effects import StartExecutor
from rain.governor.core.events import ExecutorDied
from rain.governor.core.results import Failed
from tests.governor.busy import a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import builtin_kind, task_id
from tests.governor.world import World


def test_no_executor_is_started_before_there_is_work() -> None:
    world = a_world()
    assert not world.executors


def test_as_many_executors_are_started_as_can_work() -> None:
    world = a_world(cpus=2)
    assign_calls(world, range(100, 103))
    assert list(world.executors) == [1, 2]


def test_one_task_starts_one_executor_although_more_cpus_are_free() -> None:
    world = a_world(cpus=4)
    assign_calls(world, range(100, 101))
    assert list(world.executors) == [1]


def test_an_executor_is_kept_and_used_again() -> None:
    world = a_world()
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.work(1)
    assign_calls(world, range(101, 102))
    assert list(world.executors) == [1]
    assert in_hand(world, 1) == 1


def test_tasks_run_by_priority_and_then_in_the_order_of_their_arrival() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 102))
    assign_calls(world, range(102, 104), priority=1)
    world.ready(1)
    order: list[TaskId | None] = []
    while world.start_next(1):
        order.append(world.running_on(1))
        world.answer(1)
        world.collect(1)
    assert order == [task_id(number) for number in (102, 103, 100, 101)]


def test_a_smaller_task_overtakes_one_that_does_not_fit() -> None:
    world = World(Resources(2))
    world.assign(builtin_kind(20, method="sleep"), 100, (), (200,))
    world.assign(builtin_kind(21, resources=Resources(2)), 101, (), (201,))
    world.assign(builtin_kind(20, method="sleep"), 102, (), (202,))
    assert [run.task for run in world.runs.values()] == [task_id(100), task_id(102)]


def test_tasks_without_cpus_are_bounded_by_the_slots() -> None:
    world = World(Resources(2))
    kind = builtin_kind(resources=Resources(0))
    for number in range(20):
        world.assign(kind, 100 + number, (), (200 + number,))
    assert len(world.runs) == 8


def test_named_resources_are_counted() -> None:
    world = World(Resources(4, (("gpus", 1),)))
    kind = builtin_kind(resources=Resources(1, (("gpus", 1),)))
    world.assign(kind, 100, (), (200,))
    world.assign(kind, 101, (), (201,))
    assert [run.task for run in world.runs.values()] == [task_id(100)]
    world.end_run(1)
    assert [run.task for run in world.runs.values()] == [task_id(101)]


def test_queued_calls_do_not_starve_a_task_that_ranks_before_them() -> None:
    # Given an executor that is kept busy with short calls of low priority
    world = a_busy_world(calls=500)
    # When a task comes that ranks before them and needs the only cpu
    world.assign(builtin_kind(), 700, (), (800,), priority=5)
    # Then the executor gets no more, and the task runs when it is done with what it has
    for _ in range(50):
        world.start_next(1)
        world.answer(1)
        world.collect(1)
    assert [run.task for run in world.runs.values()] == [task_id(700)]
    assert in_hand(world, 1) == 0


def test_only_the_call_that_ran_fails_when_an_executor_dies() -> None:
    # Given an executor that has answered one call, runs the next, and has others
    world = a_busy_world(calls=10)
    world.start_next(1)
    world.answer(1)
    world.start_next(1)
    running = world.running_on(1)
    # When it dies before anybody has collected the answer
    world.die(1, "exit status 3\nthe last words")
    # Then the answer counts, one task fails with the cause, the others run elsewhere
    assert running is not None
    assert list(world.failed) == [running]
    message = world.failed[running].message
    assert message == "Lost connection to the executor: exit status 3\nthe last words"
    assert len(world.finished) == 2
    assert list(world.executors) == [2]
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 9


def test_an_executor_that_dies_between_two_calls_hurts_nobody() -> None:
    world = a_busy_world(calls=10)
    world.die(1)
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 10
    assert not world.failed


def test_an_idle_executor_that_dies_is_replaced_at_once() -> None:
    world = a_world()
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.work(1)
    assert StartExecutor(2, "py") in world.die(1)


def test_an_executor_that_never_worked_is_not_replaced_for_ever() -> None:
    # Given an executor that is ready after its task was stopped
    world = a_world()
    assign_calls(world, range(100, 101))
    world.stop(100)
    world.ready(1)
    # When it dies
    world.die(1)
    # Then it is not needed
    assert not world.executors


def test_each_executor_that_cannot_start_fails_one_task() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 103))
    world.die(1, "exit status 1\nno module named rain")
    assert list(world.failed) == [task_id(100)]
    message = world.failed[task_id(100)].message
    assert message.startswith("The executor unexpectedly terminated: exit status 1")
    assert list(world.executors) == [2]


def test_an_executor_for_which_there_is_no_room_hands_its_task_back() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 103))
    world.executors.pop(1)
    world.turn(ExecutorDied(1, "executor 1 cannot be started: Too many open files", short=True))
    assert list(world.failed) == [task_id(100)]
    assert world.failed[task_id(100)].cause is RunCause.NOT_STARTED
    assert world.failed[task_id(100)].message.endswith("Too many open files")


def test_the_running_task_of_an_executor_that_lacks_something_is_handed_back() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 103))
    world.ready(1)
    world.start_next(1)
    world.executors.pop(1)
    # when
    cause = "executor 1 cannot go on: Too many open files"
    world.turn(ExecutorDied(1, cause, short=True))
    # then: only that one goes elsewhere, and another executor goes on
    assert list(world.failed) == [task_id(100)]
    assert world.failed[task_id(100)].cause is RunCause.NOT_STARTED
    assert world.failed[task_id(100)].message == cause
    assert list(world.executors) == [2]


def test_a_failing_task_tells_why() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    world.answer(1, Failed("Traceback: wrong", "debug lines"))
    world.collect(1)
    failure = world.failed[task_id(100)]
    assert (failure.message, failure.debug) == ("Traceback: wrong", "debug lines")
