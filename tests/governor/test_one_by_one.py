"""How the pool treats executors of other languages."""

from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import ObjectsCached
from tests.governor.words import object_id, python_kind
from tests.governor.world import World

KIND = python_kind(task_type="cpp/hello")


def a_world(linger_seconds: float = 5.0) -> World:
    """One executor that has done a short task."""
    world = World(
        Resources(1),
        linger_seconds,
        runners=frozenset({"py", "cpp"}),
        one_by_one=frozenset({"cpp"}),
    )
    world.place(10, b"data")
    world.assign(KIND, 100, (10,), (200,))
    world.ready(1)
    world.work(1)
    return world


def last_call(world: World) -> CallExecutor:
    (call,) = [effect for effect in world.effects if isinstance(effect, CallExecutor)]
    return call


def test_an_executor_gets_its_next_call_when_it_has_answered() -> None:
    world = a_world()
    orders = Orders()
    for number in range(101, 111):
        world.assign(KIND, number, (10,), (100 + number,), orders=orders, send=False)
    world.order(orders)
    for _ in range(10):
        played = world.executors[1]
        assert len(played.calls) + (played.running is not None) == 1
        world.start_next(1)
        world.answer(1)
        world.collect(1)
    assert len(world.finished) == 11


def test_its_inputs_are_told_in_full() -> None:
    world = a_world()
    world.assign(KIND, 101, (10,), (201,))
    (call,) = last_call(world).calls
    assert isinstance(call[3][0], tuple)
    assert last_call(world).held == []


def test_what_it_says_to_remember_is_named_with_later_calls() -> None:
    world = a_world()
    world.executors[1].remembered.add(object_id(10))
    world.turn(ObjectsCached(1, [object_id(10)]))
    world.assign(KIND, 101, (10,), (201,))
    assert last_call(world).held == [object_id(10)]


def test_saying_it_twice_changes_nothing() -> None:
    world = a_world()
    world.turn(ObjectsCached(1, [object_id(10), object_id(10)]))
    world.turn(ObjectsCached(1, [object_id(10)]))


def test_what_it_remembers_is_dropped_with_the_object() -> None:
    world = a_world(linger_seconds=0)
    world.executors[1].remembered.add(object_id(10))
    world.turn(ObjectsCached(1, [object_id(10)]))
    world.drop(10)
    assert DropCached(1, [object_id(10)], []) in world.effects


def test_what_has_gone_meanwhile_is_dropped_at_once() -> None:
    world = a_world(linger_seconds=0)
    world.drop(10)
    world.executors[1].remembered.add(object_id(10))
    assert DropCached(1, [object_id(10)], []) in world.turn(ObjectsCached(1, [object_id(10)]))


def test_what_it_remembers_goes_with_its_process() -> None:
    world = a_world()
    world.turn(ObjectsCached(1, [object_id(10)]))
    world.die(1)
    world.ready(2)
    world.assign(KIND, 101, (10,), (201,))
    assert last_call(world).held == []


def test_an_overriding_python_executor_is_told_no_functions_apart() -> None:
    world = World(Resources(1), one_by_one=frozenset({"py"}))
    world.place(10, b"function")
    world.assign(python_kind(), 100, (10,), (200,))
    world.ready(1)
    assert last_call(world).remembered == []


def test_a_task_of_an_unknown_executor_fails_and_the_known_ones_are_named() -> None:
    world = a_world()
    world.assign(python_kind(5, task_type="rust/hello"), 101, (), (201,))
    (failure,) = world.failed.values()
    assert failure.message == (
        "no executor 'rust' is registered for the task type 'rust/hello';"
        " this governor knows buildin, cpp, py"
    )
