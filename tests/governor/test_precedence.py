"""Priorities of users at a governor: within a session, and for no more than its share."""

from __future__ import annotations

from attrs import evolve

from rain.base.ids import TaskId
from rain.base.resources import Resources
from tests.governor.words import builtin_kind, task_id
from tests.governor.world import World


def add(
    world: World, number: int, *, place: int = 0, priority: int = 0, session: int = 1, cpus: int = 1
) -> TaskId:
    """A task with a place among all tasks, and with the priority of its user."""
    kind = builtin_kind(
        20 + 10 * cpus + priority, method="sleep", resources=Resources(cpus), session=session
    )
    kind = evolve(kind, priority=priority)
    world.assign(kind, number, (), (number + 10_000,), priority=place)
    return task_id(number, session)


def run_all(world: World) -> list[TaskId]:
    """Ends what runs until nothing does; gives all in the order of their starts."""
    order: list[TaskId] = []
    while len(order) + 1 in world.runs:
        order.append(world.runs[len(order) + 1].task)
        world.end_run(len(order))
    return order


def test_the_tasks_of_the_largest_priority_run_first() -> None:
    world = World(Resources(1))
    running = add(world, 99)
    low = [add(world, number, priority=-1) for number in (100, 101)]
    plain = [add(world, number) for number in (102, 103)]
    high = [add(world, number, priority=7) for number in (104, 105)]
    assert run_all(world) == [running, *high, *plain, *low]


def test_also_among_tasks_with_different_needs() -> None:
    # given: both cpus are taken, and a small task is before a large one of a higher priority
    world = World(Resources(2))
    running = add(world, 99, cpus=2)
    low = add(world, 100, place=9)
    high = add(world, 101, cpus=2, priority=1)
    # when / then
    assert run_all(world) == [running, high, low]


def test_other_sessions_keep_their_turns() -> None:
    # given: the places of two sessions alternate, and one brings an urgent task at the end
    world = World(Resources(1))
    running = add(world, 99, place=99)
    first = [add(world, number, place=place) for number, place in ((100, 10), (101, 8), (102, 6))]
    other = [add(world, 110 + n, place=p, session=2) for n, p in enumerate((9, 7, 5))]
    urgent = add(world, 103, place=0, priority=3)
    # when
    order = run_all(world)
    # then
    assert order == [running, urgent, other[0], first[0], other[1], first[1], other[2], first[2]]


def test_a_session_that_has_gone_leaves_nothing_of_it() -> None:
    world = World(Resources(1))
    add(world, 99, priority=1)
    world.forget()
    assert not world.reactor.state.dispatch.with_priorities
