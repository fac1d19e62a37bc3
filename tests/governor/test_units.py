"""Units of tasks, as governors see them: calls with several functions."""

import msgpack
import pytest
from attrs import evolve

from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.units import FUNCTION_LABEL, UNIT, failure_inside
from rain.governor.core.effects import CallExecutor
from rain.governor.core.tables import TaskRow
from tests.governor.words import object_id, python_kind, task_id
from tests.governor.world import World

LOAD, SCALE, DATA = 10, 11, 12


def unit_kind(functions: int = 2, others: int = 0) -> TaskKind:
    kind = python_kind(5 + functions, task_type=UNIT)
    return evolve(kind, input_labels=(FUNCTION_LABEL,) * functions + ("",) * others)


def ready_world() -> World:
    world = World(Resources(1))
    for number in (LOAD, SCALE, DATA):
        world.place(number, b"x")
    world.assign(python_kind(), 100, (LOAD,), (500,))
    world.ready(1)
    world.work(1)
    return world


def last_call(world: World) -> CallExecutor:
    (effect,) = [effect for effect in world.effects if isinstance(effect, CallExecutor)]
    return effect


def test_every_function_of_a_unit_is_told_once() -> None:
    # given an executor that has the first of two functions
    world = ready_world()

    # when
    world.assign(unit_kind(2, 1), 101, (LOAD, SCALE, DATA), (501,))

    # then
    effect = last_call(world)
    assert [row[0] for row in effect.remembered if isinstance(row, tuple)] == [object_id(SCALE)]
    first, second, data = effect.calls[0][3]
    assert (first, second) == (object_id(LOAD), object_id(SCALE))
    assert isinstance(data, tuple)

    # when another one comes
    world.work(1)
    world.assign(unit_kind(2, 1), 102, (LOAD, SCALE, DATA), (502,))

    # then
    assert last_call(world).remembered == []


def test_how_long_a_unit_lasts_says_nothing_of_its_first_function() -> None:
    world = ready_world()
    world.assign(unit_kind(1), 101, (LOAD,), (501,))
    world.work(1, duration=0.5)
    for number in range(110, 130):
        world.assign(python_kind(), number, (LOAD,), (number + 1000,))
    assert world.executors[1].unstarted == 20


def test_units_of_one_kind_are_known_to_be_short() -> None:
    world = ready_world()
    for number in (101, 102):
        world.assign(unit_kind(1), number, (LOAD,), (number + 1000,))
        world.work(1)
    for number in range(110, 130):
        world.assign(unit_kind(1), number, (LOAD,), (number + 1000,))
    assert world.executors[1].unstarted == 20


def test_a_unit_follows_when_all_of_its_functions_are_here() -> None:
    world = ready_world()
    missing = 13
    world.place(missing)
    for number, kind, inputs in (
        (101, unit_kind(1), (LOAD,)),
        (105, unit_kind(2, 1), (LOAD, SCALE, DATA)),
    ):
        world.assign(kind, number, inputs, (number + 400,))
        world.work(1)
    world.assign(unit_kind(1), 102, (LOAD,), (502,))
    world.assign(unit_kind(2, 1), 103, (LOAD, SCALE, 502), (503,))
    world.assign(unit_kind(2, 1), 104, (LOAD, missing, 503), (504,))
    (session,) = world.reactor.state.sessions.values()
    rows = [session.tasks[task_id(number)].row for number in (102, 103, 104)]
    assert rows[:2] == [TaskRow.RUNNING, TaskRow.FOLLOWING]
    assert rows[2] is TaskRow.WAITING


def a_unit_that_runs(config: bytes) -> World:
    world = ready_world()
    orders = world.assign(unit_kind(1), 101, (LOAD,), (501,), send=False)
    orders.tasks.configs[-1] = config
    world.order(orders)
    world.start_next(1)
    return world


def test_when_its_executor_ends_a_unit_names_the_call_that_ran() -> None:
    # given
    calls = [[task_id(number), number % 2, 0, [], []] for number in (99, 100, 101)]
    inside = {"kinds": [["even"], ["odd"]], "calls": calls}
    world = a_unit_that_runs(msgpack.packb(inside))
    # when
    world.die(1, "exit status 3", place=2)
    # then
    lost = "Lost connection to the executor: exit status 3"
    assert world.failed[task_id(101)].message == failure_inside(task_id(100), "even", 2, 3, lost)


WITHOUT: list[object] = [
    None,
    {},
    {"kinds": [["f"]], "calls": [[1, 0, 0, [], []]]},
    {"kinds": [], "calls": [[1, 0, 0, [], []]] * 4},
    {"kinds": [["f"]], "calls": [[None, 0, 0, [], []]] * 4},
]


@pytest.mark.parametrize("place", [0, 4, 2**32 - 1])
@pytest.mark.parametrize("inside", WITHOUT)
def test_without_its_place_a_failed_unit_names_no_call(place: int, inside: object) -> None:
    world = a_unit_that_runs(msgpack.packb(inside))
    world.die(1, "exit status 3", place=place)
    lost = "Lost connection to the executor: exit status 3"
    assert world.failed[task_id(101)].message == lost


def test_a_task_that_is_no_unit_names_no_call() -> None:
    world = ready_world()
    world.assign(python_kind(), 101, (LOAD,), (501,))
    world.start_next(1)
    world.die(1, "exit status 3", place=2)
    assert world.failed[task_id(101)].message.startswith("Lost connection to the executor")
