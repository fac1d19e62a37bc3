"""Which executor gets what, and when."""

from rain.base.ids import TaskId
from rain.base.resources import Resources
from rain.base.wire import Orders
from rain.governor.calling import CALLS_AT_MOST
from rain.governor.messages import (
    CallExecutor,
    DropCached,
    Failed,
    KillExecutor,
    StartExecutor,
    TakeBackCalls,
)
from rain.governor.progress import STUCK_AFTER, TELL_AFTER
from tests.governor.world import World, builtin_kind, object_id, python_kind, task_id

FUNCTION = 10


def a_world(cpus: int = 2) -> World:
    world = World(Resources(cpus))
    world.place(FUNCTION, b"function")
    return world


def assign_calls(world: World, numbers: range, priority: int = 0) -> None:
    orders = Orders()
    kind = python_kind()
    for number in numbers:
        made = (number + 10_000,)
        world.assign(kind, number, (FUNCTION,), made, priority=priority, orders=orders, send=False)
    world.order(orders)


def in_hand(world: World, executor: int) -> int:
    played = world.executors[executor]
    return len(played.calls) + (played.running is not None)


def a_busy_world(calls: int = 50) -> World:
    """One executor whose calls are known to be short, with several in hand."""
    world = a_world(cpus=1)
    assign_calls(world, range(100, 100 + calls))
    world.ready(1)
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    return world


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


def test_the_first_call_of_a_function_is_alone() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 150))
    world.ready(1)
    assert in_hand(world, 1) == 1


def test_short_calls_are_queued_until_they_last_five_milliseconds() -> None:
    # Given a function that lasts a tenth of a millisecond
    world = a_busy_world(calls=100)
    # Then fifty calls of it are in hand
    assert in_hand(world, 1) == 50


def test_never_too_many_calls_are_in_hand() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 100 + 2 * CALLS_AT_MOST))
    world.ready(1)
    world.start_next(1)
    world.answer(1, duration=1e-7)
    world.collect(1)
    assert in_hand(world, 1) == CALLS_AT_MOST


def test_nothing_waits_behind_a_long_call() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 110))
    world.ready(1)
    world.start_next(1)
    world.answer(1, duration=0.5)
    world.collect(1)
    assert in_hand(world, 1) == 1


def test_one_call_waits_behind_one_that_lasts_some_milliseconds() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 110))
    world.ready(1)
    world.start_next(1)
    world.answer(1, duration=0.008)
    world.collect(1)
    assert in_hand(world, 1) == 2


def test_calls_are_shared_evenly() -> None:
    # Given two executors and a known function
    world = a_world(cpus=2)
    assign_calls(world, range(100, 102))
    world.ready(1, 2)
    world.work(1)
    world.work(2)
    # When ten short calls come
    assign_calls(world, range(200, 210))
    # Then each executor has five
    assert (in_hand(world, 1), in_hand(world, 2)) == (5, 5)


def test_all_calls_for_an_executor_leave_in_one_effect() -> None:
    world = a_busy_world()
    assert len([effect for effect in world.effects if isinstance(effect, CallExecutor)]) == 1


def test_kinds_and_functions_are_told_once_to_each_executor() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    (first,) = [effect for effect in world.effects if isinstance(effect, CallExecutor)]
    world.work(1)
    assign_calls(world, range(101, 103))
    (second,) = [effect for effect in world.effects if isinstance(effect, CallExecutor)]
    assert [len(first.task_kinds), len(first.object_kinds), len(first.remembered)] == [1, 1, 1]
    assert [second.task_kinds, second.object_kinds, second.remembered] == [[], [], []]
    assert [call[3] for call in second.calls] == [[object_id(FUNCTION)]] * 2


def test_a_dropped_function_is_dropped_by_the_executors_too() -> None:
    world = World(Resources(1), linger_seconds=0)
    world.place(FUNCTION, b"function")
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.work(1)
    world.drop(FUNCTION)
    assert DropCached(1, [object_id(FUNCTION)], []) in world.effects


def test_a_forgotten_session_is_forgotten_by_the_executors_too() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.work(1)
    world.forget()
    assert not world.executors[1].kinds
    assert not world.executors[1].remembered


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


def test_what_waits_behind_a_stuck_call_runs_elsewhere() -> None:
    # Given two executors, and a call that lasts much longer than expected
    world = a_world(cpus=2)
    assign_calls(world, range(100, 102))
    world.ready(1, 2)
    world.work(1)
    world.work(2)
    assign_calls(world, range(200, 220))
    world.start_next(1)
    stuck = world.running_on(1)
    while world.work(2):
        pass
    assert in_hand(world, 1) == 10
    # When some time has passed
    effects = world.tick(STUCK_AFTER * 1.1)
    # Then all that it had not started went to the other one
    assert TakeBackCalls(1) in effects
    assert in_hand(world, 1) == 1
    assert in_hand(world, 2) == 9
    while world.work(2):
        pass
    # And the stuck executor gets nothing before it answers
    assign_calls(world, range(300, 320))
    assert in_hand(world, 1) == 1
    world.answer(1)
    world.collect(1)
    while world.work(1) + world.work(2):
        pass
    assert len(world.finished) == 42
    assert stuck in world.finished


def test_time_is_only_asked_for_while_calls_wait_behind_others() -> None:
    world = a_busy_world()
    assert world.reactor.next_time() - world.now < STUCK_AFTER
    while world.work(1):
        pass
    assert world.reactor.next_time() - world.now > 1


def test_a_stopped_call_that_was_not_started_disturbs_nobody() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    effects = world.stop(105)
    assert TakeBackCalls(1) in effects
    assert KillExecutor(1) not in effects
    world.answer(1)
    world.collect(1)
    while world.work(1):
        pass
    assert len(world.finished) == 9
    assert task_id(105) not in world.starts


def test_a_stopped_call_that_runs_costs_its_executor_and_nobody_else() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    running = world.running_on(1)
    assert running == task_id(101)
    effects = world.stop(101)
    assert KillExecutor(1) in effects
    assert in_hand(world, 1) == 1
    world.die(1, "killed")
    assert not world.failed
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 9


def test_a_stopped_call_that_has_just_been_answered_kills_nobody() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    world.answer(1)  # and nobody has collected it yet
    effects = world.stop(101)
    assert KillExecutor(1) not in effects
    while world.work(1):
        pass
    assert len(world.finished) == 9
    assert task_id(101) not in world.finished


def test_a_task_that_was_stopped_may_come_back_with_the_next_attempt() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    orders = Orders(stop_ids=[task_id(101)], stop_attempts=[1])
    world.assign(python_kind(), 101, (FUNCTION,), (10_101,), attempt=2, orders=orders)
    world.die(1, "killed")
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 10
    assert world.starts[task_id(101)] == 2


def test_closing_a_session_kills_what_runs_and_nothing_of_others() -> None:
    world = a_world(cpus=2)
    world.place(FUNCTION, b"other", session=2)
    assign_calls(world, range(100, 101))
    world.assign(python_kind(session=2), 100, (FUNCTION,), (10_100,))
    world.ready(1, 2)
    world.start_next(1)
    world.start_next(2)
    effects = world.forget(1)
    assert [effect for effect in effects if isinstance(effect, KillExecutor)] == [KillExecutor(1)]
    world.die(1, "killed")
    world.answer(2)
    world.collect(2)
    assert list(world.finished) == [task_id(100, 2)]
    assert not world.failed


def test_an_executor_that_answers_what_it_was_not_asked_is_killed() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    world.answer(1)
    unread = world.executors[1].unread
    assert unread is not None
    unread.tasks[0] = task_id(999)
    assert KillExecutor(1) in world.collect(1)


def starts(world: World) -> list[TaskId]:
    """All starts that the server has heard of."""
    return [number for update in world.updates for number in update.started_ids]


def test_the_server_hears_of_the_start_of_what_runs_for_a_while_and_once() -> None:
    world = a_busy_world(calls=10)
    assert starts(world) == []
    world.tick(TELL_AFTER * 1.1)
    assert starts(world) == [task_id(101)]
    world.tick(TELL_AFTER * 1.1)
    assert starts(world) == [task_id(101)]


def test_the_server_hears_nothing_of_the_start_of_what_is_over_soon() -> None:
    world = a_busy_world(calls=4)
    before = len(world.updates)
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    assert starts(world) == []
    assert len(world.updates) == before + 1  # one message for all of the task's life


def test_the_server_hears_at_once_of_what_may_have_ended_a_governor_before() -> None:
    world = a_world(cpus=2)
    for number, attempt in ((100, 1), (101, 2)):
        world.assign(python_kind(), number, (FUNCTION,), (number + 10_000,), attempt=attempt)
    world.ready(1)
    world.ready(2)
    assert starts(world) == [task_id(101)]


def test_a_turn_is_due_when_a_start_is_to_be_told() -> None:
    world = a_busy_world(calls=2)
    due = world.reactor.next_time()
    assert due <= world.now + TELL_AFTER
    world.tick(TELL_AFTER * 1.1)
    assert world.reactor.next_time() > world.now + TELL_AFTER


def test_a_failing_task_tells_why() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    world.answer(1, Failed("Traceback: wrong", "debug lines"))
    world.collect(1)
    failure = world.failed[task_id(100)]
    assert (failure.message, failure.debug) == ("Traceback: wrong", "debug lines")
