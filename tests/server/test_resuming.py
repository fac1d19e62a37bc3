"""Governors that go on when their connection or the server was away: the server's side."""

from __future__ import annotations

from rain.base.ids import GovernorId, ObjectId
from rain.base.resources import Resources
from rain.base.wire import Orders, Update
from rain.graph import Governor
from rain.server import resuming
from rain.server.http.status import gather_status
from rain.server.messages import (
    GovernorAway,
    GovernorResumed,
    ServerReturned,
)
from rain.server.state import ReactorSettings
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World, new_world

RETURNS = ReactorSettings(
    debug=True,
    governor_silence=20.0,
    governor_grace=3.0,
    much_wait=0.0,
    little_wait=0.0,
    returns=True,
)


def scene(tasks: int = 1) -> tuple[World, FakeGovernor, Draft]:
    """A server that comes back, and a governor that was told of some tasks."""
    world = new_world(settings=RETURNS)
    governor = world.governor(cpus=4)
    client = world.client()
    draft = client.session()
    for _ in range(tasks):
        draft.task(keep=True)
    client.submit(draft)
    world.turn()
    assert len(governor.tasks) == tasks
    return world, governor, draft


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


def test_a_cut_is_no_loss_if_the_governor_comes_back_in_time() -> None:
    # given: it was told of a task, and has not heard of it
    world, fake, _ = scene()
    (task,) = fake.tasks
    run = fake.tasks[task]

    # when
    world.turn(GovernorAway(fake.id, "cut"))
    assert fake.node.away is not None
    world.turn(GovernorResumed(fake.id, 0), after=RETURNS.governor_grace - 1)
    world.turn(after=RETURNS.governor_silence - 1)

    # then: the task is still there, in its first run, and its orders can be told again
    assert fake.node.away is None
    assert world.task(task).last_run().number == run
    told = [i for orders in resuming.missed(fake.node, 0) for i in orders.tasks.ids]
    assert told == [task]


def test_a_governor_that_does_not_come_back_after_a_cut_is_lost_soon() -> None:
    world, fake, _ = scene()
    world.turn(GovernorAway(fake.id, "cut"))
    assert world.reactor.next_time() <= world.now + RETURNS.governor_grace
    world.turn(after=RETURNS.governor_grace + 0.5)
    assert world.dismissed == {fake.id: "it has not come back within 3 seconds: cut"}


def test_all_governors_have_as_long_as_they_may_be_silent_when_the_server_returns() -> None:
    # given
    world, fake, _ = scene()
    other = world.governor()

    # when: the server was away for an hour, and one of them comes back
    world.turn(ServerReturned(), after=3600.0)
    world.turn(after=RETURNS.governor_silence - 2)
    assert world.dismissed == {}
    world.turn(GovernorResumed(fake.id, fake.node.ordered))
    world.turn(after=2.0)

    # then
    assert world.dismissed == {
        other.id: "it has not come back within 20 seconds: the server was away"
    }


def test_the_status_says_since_when_a_governor_is_away() -> None:
    world, fake, _ = scene()
    world.turn(GovernorAway(fake.id, "cut"))
    (shown,) = gather_status(world.state, world.now + 2)["governors"]
    assert (shown["away"], shown["away_why"]) == (2.0, "cut")
    world.turn(GovernorResumed(fake.id, 0))
    (shown,) = gather_status(world.state, world.now)["governors"]
    assert shown["away_why"] == ""


def test_one_that_comes_back_when_it_was_given_up_is_told_so() -> None:
    world, fake, _ = scene()
    fake.leave()
    world.governors.append(fake)  # it hears of it
    world.turn(GovernorResumed(fake.id, 0))
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


def test_who_has_another_past_cannot_resume() -> None:
    governor = Governor(GovernorId(5), 1, "h:1", Resources(1))
    assert resuming.why_not(None, 0, 0) == resuming.GIVEN_UP
    resuming.keep(governor, Orders())
    governor.applied = 4
    assert resuming.why_not(governor, 1, 4) == ""
    assert resuming.why_not(governor, 0, 0) == ""
    assert "has applied 2" in resuming.why_not(governor, 2, 4)
    assert "has confirmed 5" in resuming.why_not(governor, 1, 5)


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
