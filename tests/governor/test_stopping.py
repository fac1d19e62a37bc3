"""Stopping tasks hits nobody else."""

from rain.base.wire import Orders
from rain.governor.messages import (
    KillExecutor,
    TakeBackCalls,
)
from tests.governor.busy import FUNCTION, a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import python_kind, task_id


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


def test_a_task_that_was_stopped_may_come_back_with_the_next_run() -> None:
    world = a_busy_world(calls=10)
    world.start_next(1)
    orders = Orders(stop_ids=[task_id(101)], stop_runs=[1])
    world.assign(python_kind(), 101, (FUNCTION,), (10_101,), run=2, orders=orders)
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
