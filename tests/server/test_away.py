"""Governors that are away: how long the server waits, and what it does meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.errors import PlanError
from rain.base.ids import RequestId
from rain.base.wire.answers import Fetched
from rain.base.wire.update import Update
from rain.scheduler.api import Scheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.rain import RainScheduler
from rain.server.core import resuming
from rain.server.core.messages import (
    GovernorAway,
    GovernorResumed,
    ServerReturned,
    ServerStoodStill,
)
from rain.server.core.returning_clients import MOST_RETURNS
from rain.server.http.status import gather_status
from tests.support.fake_client import answer_of
from tests.support.fake_governor import FakeGovernor
from tests.support.returning import RETURNS, scene
from tests.support.scenes import scene as begin_scene
from tests.support.world import World, new_world


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
