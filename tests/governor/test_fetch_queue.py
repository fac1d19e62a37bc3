"""What a governor fetches first, and how much at a time."""

from __future__ import annotations

from rain.base.ids import ObjectId
from rain.base.wire.orders import LATER, Orders
from rain.governor.core.fetches import BYTES_AT_ONCE, FETCHES_AT_ONCE, SMALL_AT_ONCE, SMALL_BYTES
from tests.governor.words import builtin_kind, object_id
from tests.governor.world import World


def fetched(world: World) -> list[ObjectId]:
    return [fetch.object for fetch in world.fetches.values()]


def occupy(world: World) -> None:
    """All places for fetches are taken by objects that no task waits for."""
    orders = Orders()
    for number in range(FETCHES_AT_ONCE):
        world.place(900 + number, orders=orders, send=False)
    world.order(orders)


def test_more_small_objects_come_at_a_time_than_large_ones() -> None:
    for size, count in ((1000, SMALL_AT_ONCE), (SMALL_BYTES, FETCHES_AT_ONCE)):
        world = World()
        orders = Orders()
        for number in range(2 * SMALL_AT_ONCE):
            world.place(10 + number, size=size, orders=orders, send=False)
        world.order(orders)
        assert len(world.fetches) == count


def test_what_the_most_urgent_task_waits_for_is_fetched_first() -> None:
    world = World()
    kind = builtin_kind()
    occupy(world)
    orders = Orders()
    for number, priority in ((10, 1), (11, 3), (12, 2)):
        world.place(number, orders=orders, send=False)
        inputs, outputs = (number,), (number + 2000,)
        world.assign(
            kind, number + 1000, inputs, outputs, priority=priority, orders=orders, send=False
        )
    world.place(13, orders=orders, send=False)  # nobody waits for it
    world.order(orders)
    for fetch, expected in zip(list(world.fetches), (11, 12, 10, 13), strict=False):
        world.fetched(fetch, b"")
        assert fetched(world)[-1] == object_id(expected)


def test_an_object_goes_ahead_when_an_urgent_task_comes_to_wait_for_it() -> None:
    world = World()
    kind = builtin_kind()
    orders = Orders()
    occupy(world)
    world.place(10, orders=orders, send=False)
    world.place(11, orders=orders, send=False)
    world.order(orders)
    world.assign(kind, 1011, (11,), (2011,))
    world.fetched(1, b"")
    assert fetched(world)[-1] == object_id(11)
    world.fetched(2, b"")
    assert fetched(world)[-1] == object_id(10)
    assert fetched(world).count(object_id(11)) == 1


def test_an_object_keeps_its_place_when_a_less_urgent_task_comes_to_wait_for_it() -> None:
    world = World()
    kind = builtin_kind()
    orders = Orders()
    occupy(world)
    for number, priority in ((10, 2), (11, 3)):
        world.place(number, orders=orders, send=False)
        world.assign(
            kind, number + 1000, (number,), (number + 2000,), priority=priority, orders=orders,
            send=False,
        )  # fmt: skip
    world.order(orders)
    world.assign(kind, 1012, (11,), (2012,), priority=1)
    world.fetched(1, b"")
    assert fetched(world)[-1] == object_id(11)


def test_large_objects_come_one_after_the_other() -> None:
    world = World()
    orders = Orders()
    for number in range(3):
        world.place(10 + number, orders=orders, send=False, size=BYTES_AT_ONCE // 2)
    world.place(20, orders=orders, send=False, size=3 * BYTES_AT_ONCE)
    world.order(orders)
    assert fetched(world) == [object_id(10), object_id(11)]
    world.fetched(1, b"")
    assert fetched(world) == [object_id(11), object_id(12)]
    world.fetched(2, b"")
    world.fetched(3, b"")
    assert fetched(world) == [object_id(20)]


def test_an_object_whose_source_comes_later_waits_for_it_and_holds_nobody_up() -> None:
    world = World()
    world.place(10, source=LATER)
    world.place(11)
    assert fetched(world) == [object_id(11)]
    world.place(10, source="holder:1")
    assert fetched(world) == [object_id(11), object_id(10)]
    assert [fetch.source for fetch in world.fetches.values()] == ["other:1", "holder:1"]


def test_a_source_that_comes_with_the_same_message_counts() -> None:
    world = World()
    orders = Orders()
    world.place(10, source=LATER, orders=orders, send=False)
    world.place(10, source="holder:1", orders=orders, send=False)
    world.order(orders)
    assert [fetch.source for fetch in world.fetches.values()] == ["holder:1"]


def test_nobody_fetches_from_a_source_that_is_to_come() -> None:
    world = World()
    world.place(10)
    world.fetch_failed(1)
    world.place(10, source=LATER)
    assert not world.fetches
