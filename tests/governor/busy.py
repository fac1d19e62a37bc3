"""Worlds with calls of one function, for tests of who gets them."""

from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from tests.governor.words import python_kind
from tests.governor.world import World

FUNCTION = 10


def a_world(cpus: int = 2) -> World:
    world = World(Resources(cpus))
    world.place(FUNCTION, b"function")
    return world


def assign_calls(world: World, numbers: range, priority: int = 0) -> None:
    orders = Orders()
    kind = python_kind()
    for number in numbers:
        made = (number + 10_000,)
        world.assign(kind, number, (FUNCTION,), made, priority=priority, orders=orders, send=False)
    world.order(orders)


def in_hand(world: World, executor: int) -> int:
    played = world.executors[executor]
    return len(played.calls) + (played.running is not None)


def a_busy_world(calls: int = 50) -> World:
    """One executor whose calls are known to be short, with several in hand."""
    world = a_world(cpus=1)
    assign_calls(world, range(100, 100 + calls))
    world.ready(1)
    world.start_next(1)
    world.answer(1)
    world.collect(1)
    return world
