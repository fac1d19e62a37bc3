"""The numbers by which a governor and a server that comes back resume: the governor's side."""

from __future__ import annotations

import pytest

from rain.base.errors import ProtocolError
from rain.base.ids import SessionId
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.governor.core.numbers import Numbers
from rain.governor.core.reactor import HEARTBEAT
from tests.governor.words import python_kind
from tests.governor.world import World


def counting() -> World:
    """A governor whose server comes back, with an executor that is ready."""
    world = World()
    world.reactor.numbers.counts = True
    return world


def numbered(orders: Orders, number: int) -> Orders:
    orders.number = number
    return orders


def test_orders_that_come_twice_are_applied_once() -> None:
    # given
    world = counting()
    world.order(numbered(world.assign(python_kind(), 10, outputs=(20,), send=False), 1))
    world.ready(*world.executors)
    assert world.work(1) == 1

    # when: the same comes again, as the server did not know that it had arrived
    world.order(numbered(world.assign(python_kind(), 10, outputs=(20,), send=False), 1))

    # then
    assert world.work(1) == 0
    assert world.reactor.numbers.heard == 1


def test_orders_after_a_gap_are_a_fault_of_the_server() -> None:
    world = counting()
    world.order(Orders(number=1))
    with pytest.raises(ProtocolError, match="orders 3 has come after the batch of orders 1"):
        world.order(Orders(number=3))


def test_news_are_kept_until_the_server_has_applied_them() -> None:
    # given: news of two tasks
    world = counting()
    world.assign(python_kind(), 10, outputs=(20,))
    world.ready(*world.executors)
    world.work(1)
    world.assign(python_kind(), 11, outputs=(21,))
    world.work(1)
    numbers = world.reactor.numbers
    assert [update.number for update in numbers.kept] == [*range(1, numbers.sent + 1)]
    last = numbers.kept[-1]

    # when: the server has applied all but the last
    numbers.confirm(last.number - 1)

    # then
    assert numbers.missed(last.number - 1) == [last]
    numbers.confirm(last.number)
    assert not numbers.kept


def test_a_sign_of_life_is_not_kept_and_says_what_was_heard() -> None:
    world = counting()
    world.order(Orders(forget_sessions=[SessionId(9)], number=1))
    world.tick(HEARTBEAT)
    assert (world.updates[-1].number, world.updates[-1].heard) == (0, 1)
    assert not world.reactor.numbers.kept


def test_where_the_server_does_not_come_back_nothing_is_kept() -> None:
    world = World()
    world.assign(python_kind(), 10, outputs=(20,))
    world.ready(*world.executors)
    world.work(1)
    assert {(update.number, update.heard) for update in world.updates} == {(0, 0)}
    assert not world.reactor.numbers.kept


def test_a_server_cannot_have_applied_what_was_never_told() -> None:
    numbers = Numbers(counts=True)
    numbers.stamp(Update(), news=True)
    with pytest.raises(ProtocolError, match="has applied the update 2, and 1 were sent"):
        numbers.confirm(2)
