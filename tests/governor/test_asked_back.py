"""What the server asks back goes if it has not begun, and stays if it has."""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.base.wire.orders import Orders
from rain.governor.core.effects import InterruptExecutor, TakeBackCalls
from tests.governor.busy import FUNCTION, a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World


def started(world: World) -> list[TaskId]:
    return [task for update in world.updates for task in update.started_ids]


def test_a_task_that_waits_for_a_cpu_is_given_back_at_once_and_nobody_else_is_disturbed() -> None:
    # given: one cpu, and one executor that runs a call
    world = a_world(cpus=1)
    assign_calls(world, range(100, 103))
    world.ready(1)
    world.start_next(1)

    # when
    effects = world.ask_back(102)

    # then
    assert world.returned() == [task_id(102)]
    assert not [one for one in effects if isinstance(one, TakeBackCalls)]
    world.answer(1)
    world.collect(1)
    while world.work(1):
        pass
    assert set(world.finished) == {task_id(100), task_id(101)}


def test_a_task_that_waits_for_its_input_is_given_back() -> None:
    world = a_world(cpus=1)
    world.assign(python_kind(), 100, (FUNCTION,), (200,))
    orders = Orders()
    world.assign(python_kind(), 101, (FUNCTION, 200), (201,), orders=orders)
    world.ask_back(101)
    assert world.returned() == [task_id(101)]


def test_a_call_that_has_begun_stays_and_its_start_is_told_at_once() -> None:
    # given: it has begun, and the server has not heard of it
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    assert started(world) == []

    # when
    effects = world.ask_back(100)

    # then
    assert started(world) == [task_id(100)]
    assert world.returned() == []
    assert not [one for one in effects if isinstance(one, InterruptExecutor)]
    world.answer(1)
    world.collect(1)
    assert list(world.finished) == [task_id(100)]
    assert world.starts[task_id(100)] == 1


def test_of_what_an_executor_has_in_hand_only_the_call_that_it_has_begun_stays() -> None:
    # given: short calls, of which an executor has several in hand
    world = a_busy_world(calls=20)
    world.start_next(1)
    assert in_hand(world, 1) > 2
    running = world.running_on(1)
    behind = task_id(102)
    assert running == task_id(101)

    # when
    for number in (101, 102):
        world.ask_back(number)

    # then
    assert world.returned() == [behind]
    assert started(world) == [running]
    world.answer(1)
    world.collect(1)
    while world.work(1):
        pass
    assert len(world.finished) == 19
    assert world.starts[behind] == 0


def test_a_call_that_ends_before_the_answer_has_just_ended() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ready(1)
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    assert list(world.finished) == [task_id(100)]
    world.ask_back(100)
    assert world.returned() == []


def test_a_call_whose_executor_dies_before_it_has_begun_is_given_back() -> None:
    # given: its executor has not read it
    world = a_world(cpus=1)
    assign_calls(world, range(100, 102))
    world.ready(1)

    # when
    world.executors[1].killed = True
    world.die(1, "killed")
    world.ask_back(100)

    # then: it waits for another executor, and is returned
    assert task_id(100) in world.returned()


def test_another_run_of_the_task_is_not_given_back() -> None:
    world = a_world(cpus=1)
    assign_calls(world, range(100, 101))
    world.ask_back(100, run=2)
    assert world.returned() == []
    assert task_id(100) in world.assigned


def test_a_task_that_runs_inside_the_governor_has_begun() -> None:
    world = World()
    world.assign(builtin_kind(method="sleep"), 100, (), (200,))
    assert started(world) == [task_id(100)]
    world.ask_back(100)
    assert world.returned() == []
    assert task_id(100) in world.assigned
