"""Governors that go on when their connection or the server was away: the server's side."""

from __future__ import annotations

from rain.base.ids import GovernorId, ObjectId
from rain.base.resources import Resources
from rain.base.wire.orders import Orders
from rain.base.wire.requests import Submit
from rain.base.wire.update import Update
from rain.graph import Governor
from rain.server.core import resuming
from rain.server.core.messages import (
    Asked,
    GovernorResumed,
    OrderGovernor,
    ServerReturned,
)
from tests.support.returning import RETURNS, scene
from tests.support.world import new_world


def unheard(governor: Governor) -> list[int]:
    return [orders.number for orders in governor.unheard]


def test_orders_are_kept_until_their_governor_has_applied_them() -> None:
    # given
    world, fake, _ = scene()
    node = fake.node
    assert unheard(node) == [*range(1, node.ordered + 1)]
    assert [orders.number for orders in fake.told] == unheard(node)

    # when: a sign of life says that all was applied
    fake.send(Update(heard=node.ordered))

    # then
    assert not node.unheard
    assert resuming.missed(node, node.ordered) == []
    assert world.dismissed == {}


def test_a_server_that_does_not_come_back_keeps_no_orders() -> None:
    world = new_world()
    fake = world.governor()
    client = world.client()
    draft = client.session()
    draft.task()
    client.submit(draft)
    world.turn()
    assert fake.told
    assert {orders.number for orders in fake.told} == {0}
    assert not fake.node.unheard


def test_an_update_that_comes_twice_is_applied_once() -> None:
    # given
    world, fake, _ = scene()
    (task,) = fake.tasks
    update = fake.finished(task)
    update.number = 1
    fake.send(update)
    ignored = world.state.ignored

    # when
    fake.send(update)

    # then: it is not even looked at
    assert world.state.ignored == ignored + 1
    assert (fake.node.applied, world.dismissed) == (1, {})


def test_a_governor_that_has_left_out_an_update_is_dismissed() -> None:
    world, fake, _ = scene()
    fake.send(Update(located=[ObjectId(1)], number=2))
    assert world.dismissed == {fake.id: "its update 2 has come after its update 0"}


def test_a_governor_that_has_applied_orders_of_the_future_is_dismissed() -> None:
    world, fake, _ = scene()
    fake.send(Update(heard=99))
    assert "it has applied the orders 99" in world.dismissed[fake.id]


def test_one_that_comes_back_when_it_was_given_up_is_told_so() -> None:
    world, fake, _ = scene()
    fake.leave()
    world.governors.append(fake)  # it hears of it
    world.turn(GovernorResumed(fake.id, 0, 0))
    assert world.dismissed == {fake.id: resuming.GIVEN_UP}


def test_orders_while_a_governor_is_away_wait_for_it() -> None:
    # given
    world, fake, draft = scene()
    world.turn(ServerReturned())

    # when
    draft.task()
    world.clients[0].submit(draft)
    world.turn()

    # then: they are made, and kept
    assert len(fake.tasks) == 2
    assert len(resuming.missed(fake.node, 0)) == fake.node.ordered


def test_a_governor_with_another_past_cannot_resume() -> None:
    governor = Governor(GovernorId(5), 1, "h:1", Resources(1))
    assert resuming.why_not(None, 0, 0) == resuming.GIVEN_UP
    resuming.keep(governor, Orders())
    governor.applied = 4
    assert resuming.why_not(governor, 1, 4) == ""
    assert resuming.why_not(governor, 0, 0) == ""
    assert "has applied 2" in resuming.why_not(governor, 2, 4)
    assert "has confirmed 5" in resuming.why_not(governor, 1, 5)


def test_what_a_governor_has_missed_is_ordered_again_in_the_turn_of_its_return() -> None:
    # given: orders that were made while it was away
    world, fake, draft = scene()
    heard = fake.node.ordered
    world.turn(ServerReturned())
    draft.task()
    world.clients[0].submit(draft)
    world.turn()
    draft.task()
    world.clients[0].submit(draft)
    world.turn()
    (*_, missed, last) = fake.node.unheard

    # when: and there is something new for it in the same turn
    draft.task()
    request = Submit(draft.fill(draft.take()))
    effects = world.turn(
        GovernorResumed(fake.id, heard, 0), Asked(world.clients[0].id, world.request(), request)
    )

    # then: nobody hears of them before the server knows that it has come back
    orders = [one.orders.number for one in effects if isinstance(one, OrderGovernor)]
    assert orders[:2] == [missed.number, last.number]
    assert orders == sorted(orders)
    assert len(orders) == 3


def test_orders_with_the_numbers_of_lost_ones_were_not_heard() -> None:
    # given: a server whose machine has stopped, and which has forgotten its last orders
    world, fake, draft = scene()
    lost = fake.node.ordered + 1
    world.turn(ServerReturned())

    # when: it makes others with the same number for the governor that is away, and is away again
    draft.task()
    world.clients[0].submit(draft)
    world.turn()
    assert fake.node.ordered == lost
    world.turn(ServerReturned())

    # then
    assert resuming.why_not(fake.node, lost - 1, 0) == ""
    assert f"has applied {lost}" in resuming.why_not(fake.node, lost, 0)

    # and when: it has come back
    world.turn(GovernorResumed(fake.id, lost - 1, 0))

    # then: it has got them
    assert resuming.why_not(fake.node, lost, 0) == ""


def test_the_numbers_are_the_same_when_a_recorded_run_is_made_again() -> None:
    world, fake, _ = scene(tasks=3)
    fake.send(Update(heard=1))
    world.turn(ServerReturned())
    again = new_world(settings=RETURNS)
    for given in world.turns:
        again.reactor.turn(given)
    node = again.state.graph.governors[fake.id]
    assert node.unheard == fake.node.unheard
    assert (node.ordered, node.applied, node.away) == (
        fake.node.ordered,
        fake.node.applied,
        fake.node.away,
    )
