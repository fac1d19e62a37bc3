"""Gpus are lent to one task at a time, and come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import InvariantError
from rain.base.ids import TaskId
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.effects import CallExecutor, KillExecutor, RunBuiltin, StartExecutor
from rain.governor.core.gpus import Gpus, Lent
from tests.governor.words import builtin_kind, python_kind, task_id
from tests.governor.world import World

ONE = Resources(0, (("gpus", 1),))
TWO = Resources(0, (("gpus", 2),))


def a_world(gpus: int = 2, cpus: int = 4) -> World:
    return World(Resources.of({"cpus": cpus, "gpus": gpus}))


def assign(world: World, *numbers: int, needs: Resources, kind: int = 2) -> None:
    orders = Orders()
    made = python_kind(kind, resources=needs)
    for number in numbers:
        world.assign(made, number, (), (number + 1000,), orders=orders, send=False)
    world.order(orders)


def calls(world: World) -> list[CallExecutor]:
    return [effect for effect in world.effects if isinstance(effect, CallExecutor)]


@given(
    st.integers(0, 5),
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 10)), max_size=30),
)
def test_no_gpu_is_lent_twice_and_all_come_back(
    count: int, steps: list[tuple[bool, int, int]]
) -> None:
    gpus = Gpus([f"GPU-{number}" for number in range(count)])
    lent: list[Lent] = []
    before: Lent = ()
    for takes, wanted, pick in steps:
        if takes and wanted <= len(gpus.free):
            given_back = gpus.take(wanted, before)
            assert len(given_back) == wanted
            lent.append(given_back)
        elif lent:
            before = lent.pop(pick % len(lent))
            gpus.give_back(before)
        out = [name for names in lent for name in names]
        assert sorted([*out, *gpus.free]) == sorted(gpus.names)
    for names in lent:
        gpus.give_back(names)
    assert gpus.free == list(gpus.names)


def test_the_gpus_that_were_used_before_are_taken_again_when_they_are_free() -> None:
    gpus = Gpus(["0", "1", "2"])
    assert gpus.take(1, ("2",)) == ("2",)
    assert gpus.take(1, ("2",)) == ("0",)
    assert gpus.take(1, ("1", "2")) == ("1",)


def test_more_gpus_than_are_free_are_a_bug_of_ours() -> None:
    with pytest.raises(InvariantError, match="2 gpus are taken, and only 1 are free"):
        Gpus(["0"]).take(2)


def test_gpus_are_counted_from_0_unless_they_have_names() -> None:
    capacity = Resources.of({"gpus": 2})
    assert Gpus.of(capacity).names == ("0", "1")
    assert Gpus.of(capacity, ["3", "GPU-7"]).names == ("3", "GPU-7")
    with pytest.raises(InvariantError, match="2 gpus are offered"):
        Gpus.of(capacity, ["3"])


def test_two_executors_have_two_gpus_and_a_third_task_waits() -> None:
    world = a_world()
    assign(world, 100, 101, 102, needs=ONE)
    world.ready(1, 2)
    for number in (1, 2):
        world.start_next(number)
    assert world.lent_gpus() == ["0", "1"]
    # when the first one has done its work
    world.answer(1, duration=1.0)
    world.collect(1)
    world.start_next(1)
    # then the next one has its gpu
    assert world.running_on(1) == TaskId(task_id(102))
    assert world.executors[1].gpus == ("0",)


def test_a_task_without_gpus_is_told_that_it_has_none() -> None:
    world = a_world()
    assign(world, 100, needs=Resources(1))
    world.ready(1)
    (call,) = calls(world)
    assert call.gpus == ()


def test_where_there_are_no_gpus_tasks_are_told_nothing_of_them() -> None:
    world = a_world(gpus=0)
    assign(world, 100, needs=Resources(1))
    world.assign(builtin_kind(20), 101, (), (1101,))
    (run,) = [effect for effect in world.effects if isinstance(effect, RunBuiltin)]
    world.ready(1)
    (call,) = calls(world)
    assert call.gpus is None
    assert run.gpus is None


def test_a_run_inside_the_governor_has_gpus_until_it_ends() -> None:
    world = a_world()
    kind = builtin_kind(20, resources=TWO)
    world.assign(kind, 100, (), (1100,))
    world.assign(kind, 101, (), (1101,))
    (first,) = world.runs.values()
    assert first.gpus == ("0", "1")
    world.end_run(first.run)
    (second,) = world.runs.values()
    assert second.gpus == ("0", "1")


def test_the_gpus_of_an_executor_that_dies_are_free_again() -> None:
    world = a_world(gpus=1)
    assign(world, 100, 101, needs=ONE)
    world.ready(1)
    world.start_next(1)
    world.die(1)
    (number,) = world.executors
    world.ready(number)
    assert world.start_next(number)
    assert world.lent_gpus() == ["0"]


def test_a_process_that_has_seen_other_gpus_is_replaced() -> None:
    # given: a process whose libraries may know the one gpu that it had
    world = a_world()
    assign(world, 100, needs=ONE)
    world.ready(1)
    world.work(1)
    # when
    assign(world, 101, needs=TWO, kind=3)
    # then
    assert KillExecutor(1) in world.effects
    assert StartExecutor(2, "py") in world.effects
    world.die(1)
    assert list(world.executors) == [2]
    world.ready(2)
    assert world.start_next(2)
    assert world.lent_gpus() == ["0", "1"]


def test_a_process_goes_on_with_the_gpus_that_it_has_seen() -> None:
    world = a_world()
    assign(world, 100, 101, needs=ONE)
    world.ready(1, 2)
    world.work(2)
    world.work(1)
    # when: the process that came back last would get the first free gpu
    world.turn()
    for number in range(102, 110):
        assign(world, number, needs=ONE)
        (call,) = calls(world)
        assert call.gpus == (str(call.executor - 1),)
        world.work(call.executor, duration=1.0)
    assert len(world.executors) == 2


def test_tasks_without_gpus_may_run_in_any_process() -> None:
    world = a_world()
    assign(world, 100, needs=ONE)
    world.ready(1)
    world.work(1)
    assign(world, 101, needs=Resources(1), kind=3)
    (call,) = calls(world)
    assert (call.executor, call.gpus) == (1, ())
