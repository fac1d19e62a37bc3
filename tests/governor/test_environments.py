"""Tasks with environments: they run in executors of their own, or fail with them."""

from __future__ import annotations

from attrs import evolve

from rain.base.attempts import Attempts
from rain.base.environment import Environment
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.wire.orders import Orders
from rain.governor.core.effects import StartExecutor
from rain.governor.core.events import BuiltinPrepared, ExecutorDied
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World

FILES = Environment(("six",), files="1234")
PLAIN, IN_FILES = python_kind(2), evolve(python_kind(4), environment=FILES.text)
LOUD = evolve(python_kind(5), environment=Environment((), (("LEVEL", "loud"),)).text)


def starts(world: World) -> list[StartExecutor]:
    return [effect for effect in world.effects if isinstance(effect, StartExecutor)]


def assign(world: World, kind: TaskKind, *numbers: int) -> None:
    for number in numbers:
        world.assign(kind, number, (1,), (number + 100,))


def world_with(cpus: int = 3) -> World:
    world = World(Resources(cpus))
    world.place(1, b"content")
    return world


def test_an_executor_is_started_in_the_environment_with_its_content() -> None:
    world = world_with()
    assign(world, IN_FILES, 11)
    (start,) = starts(world)
    assert start.environment == FILES
    assert start.folders == (b"content",)


def test_a_task_runs_in_no_other_environment() -> None:
    # given: an idle executor of each sort
    world = world_with()
    for kind, number in ((PLAIN, 11), (IN_FILES, 12), (LOUD, 13)):
        assign(world, kind, number)
        (executor,) = (start.executor for start in starts(world))
        world.ready(executor)
        world.work(executor)
    assert len(world.finished) == 3
    # when
    for kind, number in ((LOUD, 21), (PLAIN, 22), (IN_FILES, 23)):
        assign(world, kind, number)
    # then: each went to the one of its sort
    assert not starts(world)
    told = [[call[0] for call in executor.calls] for executor in world.executors.values()]
    assert told == [[task_id(22)], [task_id(23)], [task_id(21)]]


def test_without_its_environment_no_task_that_is_ready_runs_and_others_do() -> None:
    world = world_with()
    assign(world, IN_FILES, 11, 12, 13)
    executor, *_ = world.executors
    assign(world, PLAIN, 14)
    # when
    del world.executors[executor]
    world.turn(ExecutorDied(executor, "pip has failed: no such package", without_environment=True))
    # then
    failed = [failure for update in world.updates for failure in update.failed]
    assert {failure.task for failure in failed} == {task_id(11), task_id(12), task_id(13)}
    assert {failure.message for failure in failed} == {"pip has failed: no such package"}
    assert {failure.cause for failure in failed} == {RunCause.TASK}
    assert task_id(14) in world.orders


def test_for_want_of_room_one_task_is_handed_back() -> None:
    world = world_with(1)
    assign(world, IN_FILES, 11, 12)
    (executor,) = world.executors
    del world.executors[executor]
    died = ExecutorDied(executor, "no space left", short=True, without_environment=True)
    world.turn(died)
    failed = [failure for update in world.updates for failure in update.failed]
    assert [(failure.task, failure.cause) for failure in failed] == [
        (task_id(11), RunCause.NOT_STARTED)
    ]


def test_an_executor_that_dies_is_replaced_in_the_same_environment() -> None:
    world = world_with()
    assign(world, IN_FILES, 11)
    (executor,) = world.executors
    world.ready(executor)
    world.work(executor)
    world.die(executor)
    (start,) = starts(world)
    assert start.environment == FILES


def program_kind(environment: Environment, timeout: float = 0.0) -> TaskKind:
    kind = builtin_kind(8, method="run")
    return evolve(kind, environment=environment.text, attempts=Attempts(timeout=timeout))


def test_a_program_with_an_environment_runs_inside_the_governor() -> None:
    world = world_with()
    assign(world, program_kind(FILES), 11)
    assert not starts(world)
    (run,) = world.runs.values()
    assert [source.content for source in run.inputs] == [b"content"]


def test_the_time_of_a_program_begins_when_its_environment_is_there() -> None:
    # given: what is made takes longer than the program may
    world = world_with()
    assign(world, program_kind(FILES, timeout=10), 11)
    (run,) = world.runs
    world.tick(100)
    assert not world.stopped_runs
    # when
    world.turn(BuiltinPrepared(run))
    world.tick(9)
    assert not world.stopped_runs
    world.tick(1)
    # then
    assert world.stopped_runs == [run]


def test_a_program_that_is_cancelled_as_its_environment_gets_ready_has_no_time_to_keep() -> None:
    world = world_with()
    assign(world, program_kind(FILES, timeout=10), 11)
    (run,) = world.runs
    world.order(Orders(stop_ids=[task_id(11)], stop_runs=[1]))
    assert world.stopped_runs == [run]
    world.turn(BuiltinPrepared(run))
    world.tick(100)
    assert world.stopped_runs == [run]


def test_other_built_in_tasks_and_foreign_executors_have_no_environment() -> None:
    world = World(Resources(1), runners=frozenset({"py", "cpp"}))
    world.assign(evolve(builtin_kind(), environment=LOUD.environment), 11, (), (111,))
    world.assign(python_kind(6, task_type="cpp/f"), 12, (), (112,))
    world.assign(
        evolve(python_kind(7, task_type="cpp/f"), environment=LOUD.environment), 13, (), (113,)
    )
    failed = [failure for update in world.updates for failure in update.failed]
    assert [failure.task for failure in failed] == [task_id(11), task_id(13)]
    assert "only programs and calls of Python functions" in failed[0].message


def test_a_task_that_is_refused_for_its_type_is_refused_in_an_environment_too() -> None:
    world = world_with()
    world.assign(
        evolve(python_kind(7, task_type="lua/f"), environment=LOUD.environment), 11, (), (111,)
    )
    assert "no executor 'lua' is registered" in world.failed[task_id(11)].message
