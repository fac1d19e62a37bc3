"""Stopping tasks hits nobody else."""

from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.cancelling import GRACE
from rain.governor.core.effects import (
    CallExecutor,
    InterruptExecutor,
    KillExecutor,
    StopBuiltin,
    TakeBackCalls,
)
from rain.governor.core.events import OrdersReceived, ProcessesLeft, Tick
from rain.governor.core.results import Failed
from tests.governor.busy import FUNCTION, a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World, stored


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


def test_a_stopped_call_that_runs_is_interrupted_and_its_executor_works_on() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    assert world.running_on(1) == task_id(101)
    effects = world.stop(101)
    assert InterruptExecutor(1, 2) in effects
    assert world.executors[1].interrupted == task_id(101)
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    while world.work(1):
        pass
    assert len(world.finished) == 9
    assert not world.failed
    assert list(world.executors) == [1]


def test_an_interrupted_call_holds_its_cpu_until_it_has_ended() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    world.stop(101)
    for _ in range(10):
        world.tick(0.1)
    assert in_hand(world, 1) == 1
    assert world.reactor.state.pool.free.cpus == 0
    world.answer(1)
    effects = world.collect(1)
    assert any(isinstance(effect, CallExecutor) for effect in effects)


def test_what_an_interrupted_call_returns_is_thrown_away_with_its_files() -> None:
    world = a_busy_world(calls=2)
    world.start_next(1)
    world.stop(101)
    world.answer(1, [stored(world)])
    world.collect(1)
    assert task_id(101) not in world.finished
    assert not world.files


def test_an_interrupted_call_that_does_not_end_costs_its_executor_and_nobody_else() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    world.stop(101)
    assert KillExecutor(1) not in world.tick(GRACE - 0.01)
    assert world.reactor.next_time() <= world.now + 0.01
    assert KillExecutor(1) in world.tick(0.01)
    assert KillExecutor(1) not in world.tick(GRACE)
    world.die(1, "killed")
    assert not world.failed
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 9


def test_an_answer_that_has_come_when_the_grace_is_over_still_costs_the_executor() -> None:
    # Given an executor that has answered, when nobody has looked and the grace is over
    world = a_busy_world(calls=1)
    assign_calls(world, range(200, 201))
    world.start_next(1)
    world.stop(200)
    world.turn(Tick(), dt=GRACE)
    assert world.executors[1].killed
    # When the answer is found after its death
    world.answer(1)
    world.die(1, "killed")
    # Then its cpu is free, and there is another executor
    assert world.reactor.state.pool.free.cpus == 1
    assert list(world.executors) == [2]


def test_an_interrupted_call_that_leaves_processes_behind_costs_its_executor() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    world.stop(101)
    world.answer(1)
    effects = world.turn(ProcessesLeft(1))
    assert KillExecutor(1) in effects
    world.collect(1)
    assert in_hand(world, 1) == 0
    world.die(1, "killed")
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 2
    assert not world.failed


def test_a_second_stop_says_nothing_new() -> None:
    world = a_busy_world(calls=2)
    world.start_next(1)
    world.stop(101)
    orders = Orders(stop_ids=[task_id(101)], stop_runs=[1])
    effects = world.turn(OrdersReceived(orders))
    assert not [one for one in effects if isinstance(one, InterruptExecutor | TakeBackCalls)]
    world.answer(1)
    world.collect(1)
    assert world.reactor.state.pool.free.cpus == 1


def test_a_stopped_call_whose_executor_dies_has_not_failed() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    world.stop(101)
    world.die(1, "out of memory")
    assert not world.failed
    world.ready(2)
    while world.work(2):
        pass
    assert len(world.finished) == 2


def test_a_stopped_call_that_was_not_started_is_taken_back_from_its_executor() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    effects = world.stop(100)
    assert TakeBackCalls(1) in effects
    assert not any(isinstance(effect, InterruptExecutor | KillExecutor) for effect in effects)
    assert not world.failed
    assert not world.finished
    assert world.reactor.state.pool.free.cpus == 1
    assert list(world.executors) == [1]


def test_calls_that_were_taken_back_do_not_count() -> None:
    # Given an executor that has answered one call and has had the others taken back
    world = a_busy_world(calls=5)
    world.start_next(1)
    world.tick(0.1)  # it is stuck
    assert in_hand(world, 1) == 1
    world.answer(1)
    world.collect(1)
    # When its third call is stopped
    world.start_next(1)
    assert world.running_on(1) == task_id(102)
    effects = world.stop(102)
    # Then it is told so
    assert InterruptExecutor(1, 3) in effects


def test_without_a_grace_what_runs_is_killed_at_once() -> None:
    world = World(Resources(1), grace=0.0)
    world.place(FUNCTION, b"function")
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    effects = world.stop(100)
    assert KillExecutor(1) in effects
    assert not any(isinstance(effect, InterruptExecutor) for effect in effects)


def test_executors_of_other_languages_are_killed_at_once() -> None:
    world = World(Resources(1), runners=frozenset({"other"}), one_by_one=frozenset({"other"}))
    world.assign(python_kind(task_type="other/method"), 100, (), (200,))
    world.ready(1)
    world.start_next(1)
    assert KillExecutor(1) in world.stop(100)


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


def test_a_task_that_was_stopped_may_come_back_with_the_next_run() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    orders = Orders(stop_ids=[task_id(101)], stop_runs=[1])
    world.assign(python_kind(), 101, (FUNCTION,), (10_101,), run=2, orders=orders)
    assert world.executors[1].interrupted == task_id(101)
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    while world.work(1):
        pass
    assert len(world.finished) == 10
    assert world.starts[task_id(101)] == 2


def test_closing_a_session_interrupts_what_runs_and_nothing_of_others() -> None:
    world = a_world(cpus=2)
    world.place(FUNCTION, b"other", session=2)
    assign_calls(world, range(100, 101))
    world.assign(python_kind(session=2), 100, (FUNCTION,), (10_100,))
    world.ready(1, 2)
    world.start_next(1)
    world.start_next(2)
    effects = world.forget(1)
    assert [one for one in effects if isinstance(one, InterruptExecutor)] == [
        InterruptExecutor(1, 1)
    ]
    world.answer(1)
    world.collect(1)
    world.answer(2)
    world.collect(2)
    assert list(world.finished) == [task_id(100, 2)]
    assert not world.failed


def test_what_a_closed_session_has_left_behind_ends_when_its_last_task_has() -> None:
    # Given a session whose tasks run in an executor and in the governor
    world = a_world(cpus=2)
    assign_calls(world, range(100, 101))
    world.assign(builtin_kind(), 101, (), (201,))
    world.ready(1)
    world.start_next(1)
    # When it is closed
    world.forget(1)
    assert world.ended_sessions == []
    world.end_run(1)
    assert world.ended_sessions == []
    world.answer(1)
    world.collect(1)
    # Then
    assert world.ended_sessions == [1]


def test_what_a_closed_session_has_left_behind_ends_at_once_when_nothing_of_it_runs() -> None:
    world = a_world()
    world.forget(1)
    assert world.ended_sessions == [1]


def test_the_end_of_a_cancelled_call_is_told_when_it_has_ended() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    assert InterruptExecutor(1, 2) in world.cancel(101)
    assert world.ends_told() == []
    world.answer(1, Failed("KeyboardInterrupt"))
    world.collect(1)
    assert world.ends_told() == [task_id(101)]
    assert not world.failed


def test_the_end_of_a_cancelled_call_that_is_killed_is_told_when_its_executor_has_died() -> None:
    world = a_busy_world(calls=1)
    assign_calls(world, range(200, 201))
    world.start_next(1)
    world.cancel(200)
    world.tick(GRACE)
    assert world.ends_told() == []
    world.die(1, "killed")
    assert world.ends_told() == [task_id(200)]


def test_the_server_may_say_how_long_a_cancelled_call_has_to_clean_up() -> None:
    for grace, ends_at_once in ((0.0, True), (1.0, False)):
        world = a_busy_world(calls=1)
        assign_calls(world, range(200, 201))
        world.start_next(1)
        effects = world.cancel(200, grace=grace)
        assert (KillExecutor(1) in effects) == ends_at_once
        assert ends_at_once or KillExecutor(1) in world.tick(grace)


def test_the_end_of_a_cancelled_call_that_was_not_started_is_told_when_it_is_back() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    assert TakeBackCalls(1) in world.cancel(105)
    assert world.ends_told() == [task_id(105)]
    assert KillExecutor(1) not in world.effects
    assert task_id(105) not in world.starts


def test_the_end_of_what_no_executor_has_is_told_at_once() -> None:
    world = World(Resources(1))
    world.place(10)
    world.assign(builtin_kind(), 100, (10,), (200,))
    world.cancel(100)
    assert world.ends_told() == [task_id(100)]


def test_no_end_is_told_of_a_task_that_is_over_or_was_never_here() -> None:
    world = a_busy_world(calls=1)
    assign_calls(world, range(200, 201))
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    world.cancel(200)
    world.cancel(999)
    assert world.ends_told() == []


def test_a_program_that_is_cancelled_is_given_its_time_and_its_end_is_told() -> None:
    world = World(Resources(1))
    world.assign(builtin_kind(), 100, (), (200,))
    (run,) = world.runs
    effects = world.cancel(100, grace=2.5)
    assert StopBuiltin(run, 2.5) in effects
    assert world.ends_told() == []
    world.end_run(run, Failed("stopped"))
    assert world.ends_told() == [task_id(100)]
