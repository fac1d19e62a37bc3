"""Governors that go on when their connection or the server was away: the server's side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.errors import PlanError
from rain.base.ids import GovernorId, ObjectId, RequestId
from rain.base.resources import Resources
from rain.base.wire.answers import Fetched
from rain.base.wire.orders import Orders
from rain.base.wire.requests import Submit
from rain.base.wire.update import Update
from rain.graph import Governor
from rain.scheduler.api import Scheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.rain import RainScheduler
from rain.server import resuming
from rain.server.asked_again import MOST_RETURNS
from rain.server.http.status import gather_status
from rain.server.messages import (
    Asked,
    GovernorAway,
    GovernorResumed,
    OrderGovernor,
    ServerReturned,
    ServerStoodStill,
)
from rain.server.reactor_settings import ReactorSettings
from tests.support.fake_client import answer_of
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import scene as begin_scene
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


def fetch_from_away() -> tuple[World, FakeGovernor, RequestId]:
    """A client has asked for large data of which the only holder is away."""
    world, fake, _ = scene()
    (client,) = world.clients
    (task,) = fake.tasks
    (output,) = world.task(task).outputs
    fake.finish(task, size=10**6)
    world.turn(GovernorAway(fake.id, "cut"))
    request = client.fetch(output.id)
    assert request not in world.answers
    return world, fake, request


def test_a_fetch_waits_for_its_only_holder_to_come_back() -> None:
    world, fake, request = fetch_from_away()
    world.turn(GovernorResumed(fake.id, 0, 1), after=1.0)
    answer = world.answers[request]
    assert answer_of(answer, Fetched).holder == fake.source


def test_a_fetch_goes_on_when_its_only_holder_has_not_come_back() -> None:
    # given
    world, _, request = fetch_from_away()
    other = world.governor(cpus=4)

    # when: the data is lost, and made again
    world.turn(after=RETURNS.governor_grace + 1)
    world.turn()
    assert request not in world.answers
    (task,) = other.tasks
    other.finish(task, size=10**6)

    # then
    answer = world.answers[request]
    assert answer_of(answer, Fetched).holder == other.source


def test_a_fetch_names_a_holder_that_is_there() -> None:
    # given: two governors have it, and the first one is away
    s = begin_scene(2, 2, settings=RETURNS)
    task, (output,) = s.draft.task(keep=True)
    s.submit()
    s.run(task, size=10**6)
    s.plan(lambda plan: plan.copy(s.world.object(output), s.node(1)))
    s.governors[1].locate(output)
    s.world.turn(GovernorAway(s.governors[0].id, "cut"))

    # when
    answer = s.world.answers[s.client.fetch(output)]

    # then
    assert answer_of(answer, Fetched).holder == s.governors[1].source


def test_a_cut_is_no_loss_if_the_governor_comes_back_in_time() -> None:
    # given: it was told of a task, and has not heard of it
    world, fake, _ = scene()
    (task,) = fake.tasks
    run = fake.tasks[task]

    # when
    world.turn(GovernorAway(fake.id, "cut"))
    assert fake.node.away is not None
    world.turn(GovernorResumed(fake.id, 0, 0), after=RETURNS.governor_grace - 1)
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
    world.turn(GovernorResumed(fake.id, fake.node.ordered, 0))
    world.turn(after=2.0)

    # then
    assert world.dismissed == {
        other.id: "it has not come back within 20 seconds: the server was away"
    }


def test_governors_are_not_silent_while_the_server_stands_still() -> None:
    # given: one is connected, and one is away
    world, fake, _ = scene()
    other = world.governor()
    world.turn(GovernorAway(other.id, "cut"))
    # when
    world.turn(ServerStoodStill(3600.0), after=3601.0)
    # then
    assert world.dismissed == {}
    world.turn(after=RETURNS.governor_grace)
    assert set(world.dismissed) == {other.id}
    world.turn(after=RETURNS.governor_silence)
    assert set(world.dismissed) == {other.id, fake.id}


def test_the_status_says_since_when_a_governor_is_away() -> None:
    world, fake, _ = scene()
    world.turn(GovernorAway(fake.id, "cut"))
    (shown,) = gather_status(world.state, world.now + 2)["governors"]
    assert (shown["away"], shown["away_why"]) == (2.0, "cut")
    world.turn(GovernorResumed(fake.id, 0, 0))
    (shown,) = gather_status(world.state, world.now)["governors"]
    assert shown["away_why"] == ""


def test_one_that_comes_back_when_it_was_given_up_is_told_so() -> None:
    world, fake, _ = scene()
    fake.leave()
    world.governors.append(fake)  # it hears of it
    world.turn(GovernorResumed(fake.id, 0, 0))
    assert world.dismissed == {fake.id: resuming.GIVEN_UP}


def test_what_a_governor_was_told_is_not_planned_elsewhere_until_it_has_told_of_its_time_away() -> (
    None
):
    # given: it was told of a task, and its connection breaks
    here = begin_scene(1, 1)
    task, _ = here.draft.task()
    here.submit()
    here.assign(task)
    here.world.turn(GovernorAway(here.governors[0].id, "cut"))

    # then: it may have run it
    with pytest.raises(PlanError, match="was away, and may have run it"):
        here.take_back(task)

    # and when: it is there again, and one update is still to come
    here.world.turn(GovernorResumed(here.governors[0].id, 0, 1))
    with pytest.raises(PlanError, match="was away, and may have run it"):
        here.take_back(task)

    # then: with that update all is known
    here.governors[0].send(Update(number=1))
    here.take_back(task)
    assert here.world.task(task).assigned is None


@pytest.mark.parametrize("make", [RainScheduler, HorizonScheduler])
def test_no_scheduler_of_ours_moves_what_a_governor_that_is_away_was_told(
    make: Callable[[], Scheduler],
) -> None:
    # given: all tasks are told to one governor
    world = new_world(make, RETURNS)
    first = world.governor(cpus=1)
    client = world.client()
    draft = client.session()
    for _ in range(10):
        draft.task(keep=True)
    client.submit(draft)
    world.turn()
    assert len(first.tasks) == 10

    # when: it is away, and another one comes that has nothing to do
    world.turn(GovernorAway(first.id, "cut"))
    second = world.governor(cpus=4)
    world.turn()

    # then
    assert (len(first.tasks), len(second.tasks)) == (10, 0)
    assert world.scheduler_failures == []

    # and when: it has told that it has done nothing
    world.turn(GovernorResumed(first.id, first.node.ordered, 0))
    world.turn()
    assert first.asked
    first.return_asked()
    assert second.tasks


def test_a_server_that_dies_again_and_again_waits_for_no_governor_for_ever() -> None:
    # given: a server that is never there for as long as its governors may be away
    world, fake, _ = scene()
    for _ in range(MOST_RETURNS):
        world.turn(ServerReturned())
        assert fake.id in world.state.graph.governors
    # when
    world.turn(ServerReturned())
    world.turn()
    # then
    assert fake.id not in world.state.graph.governors
    assert "the server was away" in world.dismissed[fake.id]


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
