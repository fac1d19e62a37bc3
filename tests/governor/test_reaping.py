"""Executors that are idle for long go; time is an argument."""

from hypothesis import given
from hypothesis import strategies as st

from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.effects import Effect, KillExecutor
from rain.governor.core.nodes import Executor
from rain.governor.core.pool import surplus
from rain.governor.core.reactor_settings import IDLE_SECONDS
from tests.governor.words import python_kind
from tests.governor.world import World

FUNCTION = 10


def an_idle_executor(number: int, since: float) -> Executor:
    return Executor(number, "py", ready=True, idle_since=since)


def test_the_longest_idle_go_first() -> None:
    idle = [an_idle_executor(1, 5.0), an_idle_executor(2, 3.0), an_idle_executor(3, 4.0)]
    assert [executor.id for executor in surplus(idle, 2, long_ago=10.0)] == [2, 3]


def test_equally_long_idle_ones_go_in_the_order_of_their_numbers() -> None:
    idle = [an_idle_executor(2, 3.0), an_idle_executor(1, 3.0)]
    assert [executor.id for executor in surplus(idle, 1, long_ago=10.0)] == [1]


def test_what_is_not_idle_for_long_stays() -> None:
    assert surplus([an_idle_executor(1, 10.1)], 1, long_ago=10.0) == []


def test_where_there_are_too_few_nobody_goes() -> None:
    assert surplus([an_idle_executor(1, 0.0)], -3, long_ago=10.0) == []


@given(st.lists(st.floats(0, 20)), st.integers(-3, 10))
def test_never_more_go_than_are_too_many_and_only_those_that_rested(
    times: list[float], count: int
) -> None:
    idle = [an_idle_executor(number, since) for number, since in enumerate(times)]
    gone = surplus(idle, count, long_ago=10.0)
    assert len(gone) <= max(count, 0)
    assert all(executor.idle_since <= 10.0 for executor in gone)
    assert len(gone) == min(max(count, 0), sum(since <= 10.0 for since in times))


def two_runners(cpus: int) -> World:
    """One warm executor of each of two types."""
    world = World(Resources(cpus), runners=frozenset({"py", "cpp"}))
    for number, (task_type, kind) in enumerate((("py/", 2), ("cpp/x", 3)), start=1):
        world.assign(python_kind(kind, task_type=task_type), 100 + number, (), (200 + number,))
        world.ready(number)
        world.work(number)
    return world


def test_an_executor_beyond_one_per_cpu_ends_after_a_minute_and_has_no_successor() -> None:
    # Given one cpu, and two executors that are idle
    world = two_runners(cpus=1)
    # When nearly a minute passes, nothing happens
    assert not kills(world.tick(IDLE_SECONDS * 0.9))
    # When it has passed, the one that has been idle longer goes
    assert kills(world.tick(IDLE_SECONDS * 0.2)) == [1]
    world.die(1, "was killed by SIGKILL")
    assert list(world.executors) == [2]
    # And the last one per cpu stays warm for ever
    assert not kills(world.tick(IDLE_SECONDS * 100))


def test_one_warm_executor_per_cpu_stays() -> None:
    world = two_runners(cpus=2)
    assert not kills(world.tick(IDLE_SECONDS * 100))


def test_work_after_a_rest_gets_a_new_executor() -> None:
    world = two_runners(cpus=1)
    world.tick(IDLE_SECONDS * 2)
    world.die(1, "was killed by SIGKILL")
    world.assign(python_kind(2), 110, (), (210,), orders=Orders())
    world.ready(3)
    world.work(3)
    assert len(world.finished) == 3


def test_an_executor_that_is_to_go_gets_no_work() -> None:
    # Given an executor that was told to end, and has not ended yet
    world = two_runners(cpus=1)
    world.tick(IDLE_SECONDS * 2)
    # When there is work for it
    world.assign(python_kind(2), 110, (), (210,))
    # Then another one is started for it
    assert not world.executors[1].calls
    assert list(world.executors) == [1, 2, 3]


def kills(effects: list[Effect]) -> list[int]:
    return [effect.executor for effect in effects if isinstance(effect, KillExecutor)]
