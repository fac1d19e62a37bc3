"""What calls an executor has in hand, and what it is told with them."""

from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.calling import CALLS_AT_MOST
from rain.governor.core.effects import CallExecutor, DropCached, KillExecutor
from tests.governor.busy import FUNCTION, a_busy_world, a_world, assign_calls, in_hand
from tests.governor.words import object_id, python_kind, task_id
from tests.governor.world import World


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


def in_hand_with(data: bytes, config: bytes = b"") -> int:
    """How many short calls an executor has that each get this as an input, or with the call."""
    world = a_busy_world(calls=1)
    world.place(20, data)
    orders, kind = Orders(), python_kind()
    for number in range(200, 250):
        made = (number + 10_000,)
        world.assign(kind, number, (FUNCTION, 20), made, orders=orders, send=False)
    orders.tasks.configs = [config] * len(orders.tasks.ids)
    world.order(orders)
    return in_hand(world, 1)


def test_calls_with_much_data_are_queued_until_that_takes_five_milliseconds() -> None:
    assert in_hand_with(bytes(2_000)) == 50
    assert in_hand_with(bytes(200_000)) == 5
    assert in_hand_with(b"", bytes(200_000)) == 5


def in_hand_after(seconds: float, count: int = 10) -> int:
    """How many of these tasks their executor has when the first of them has taken this long."""
    world = a_world(cpus=1)
    assign_calls(world, range(100, 100 + count))
    world.ready(1)
    world.start_next(1)
    world.answer(1, duration=seconds)
    world.collect(1)
    return in_hand(world, 1)


def test_never_too_many_calls_are_in_hand() -> None:
    assert in_hand_after(1e-7, 2 * CALLS_AT_MOST) == CALLS_AT_MOST


def test_nothing_waits_behind_a_long_call() -> None:
    assert in_hand_after(0.5) == 1


def test_one_call_waits_behind_one_that_lasts_some_milliseconds() -> None:
    assert in_hand_after(0.008) == 2


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


def test_an_executor_that_answers_what_it_was_not_asked_is_killed() -> None:
    world = a_busy_world(calls=3)
    world.start_next(1)
    world.answer(1)
    unread = world.executors[1].unread
    assert unread is not None
    unread.tasks[0] = task_id(999)
    assert KillExecutor(1) in world.collect(1)
