"""Sessions share the cpus: who comes with little does not wait for all that others have brought."""

from __future__ import annotations

import pytest

from rain.base.ids import TaskId
from rain.scheduler.api import MOST
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.toolbox.shares import Shares
from rain.server.core.messages import GovernorUpdated
from tests.scheduler.sharing import brought, run_best
from tests.support.scenes import scene, scene_with


@pytest.mark.parametrize("hint", [0.0, 0.5])
@pytest.mark.parametrize("small_hint", [0.0, 0.001, 0.05])
def test_a_small_task_does_not_wait_for_many_long_ones_of_another_session(
    hint: float, small_hint: float
) -> None:
    # given: sixty tasks on two cpus, some of which have run
    s = scene_with(HorizonScheduler(), 2)
    brought(s, s.client, 60, hint)
    run_best(s, 6, 0.5)
    # when
    small = brought(s, s.world.client(), 1, small_hint)
    # then: but for the tasks that may have started already it is next
    assert small[0] in run_best(s, 4, 0.5)


@pytest.mark.parametrize("hint", [0.001, 0.5])
def test_two_sessions_that_want_all_get_equal_shares(hint: float) -> None:
    # given
    s = scene_with(HorizonScheduler(), 2)
    first = brought(s, s.client, 60, hint)
    run_best(s, 20, hint)
    second = brought(s, s.world.client(), 60, hint)
    # when
    run = run_best(s, 40, hint)
    # then
    assert abs(len({*run} & {*first}) - len({*run} & {*second})) <= 6


def test_a_flood_of_tiny_tasks_leaves_long_ones_their_share() -> None:
    # given: somebody who brings ever more tiny tasks
    s = scene_with(HorizonScheduler(), 2)
    flood = s.world.client()
    brought(s, flood, 60, 0.001)
    long = brought(s, s.client, 1, 0.5)
    # when
    run: list[TaskId] = []
    for _ in range(8):
        brought(s, flood, 10, 0.001)
        run += run_best(s, 10, 0.001)
    # then
    assert long[0] in run


def test_many_long_tasks_of_unknown_duration_leave_another_session_its_share() -> None:
    # given: two hundred tasks of which nothing is known
    s = scene_with(HorizonScheduler(), 2)
    unknown = brought(s, s.client, 200, 0.0)
    known = brought(s, s.world.client(), 60, 0.5)
    # when
    run = run_best(s, 60, 0.5)
    # then
    assert abs(len({*run} & {*unknown}) - len({*run} & {*known})) <= 8


def test_also_before_any_of_the_long_tasks_has_ended() -> None:
    # given: two hundred tasks, one of which has been running for an hour, and has not ended
    s = scene_with(HorizonScheduler(), 2)
    (governor,) = s.governors
    unknown = brought(s, s.client, 200, 0.0)
    s.world.turn(GovernorUpdated(governor.id, governor.started(unknown[0])))
    known = brought(s, s.world.client(), 60, 0.5)
    s.world.turn(after=3600.0)
    del governor.inputs[unknown[0]]  # it takes one of the cpus, and nothing ends it
    # when
    run = run_best(s, 10, 0.5)
    # then
    assert len({*run} & {*known}) >= 5


def test_alone_a_session_keeps_its_plan_when_its_tasks_take_long() -> None:
    s = scene_with(HorizonScheduler(), 2)
    (governor,) = s.governors
    brought(s, s.client, 200, 0.0)
    run_best(s, 40, 0.5)
    assert not any(orders.stop_ids for orders in governor.told)


def test_a_task_that_goes_before_all_others_has_no_place_on_the_scale() -> None:
    # given: it was planned again elsewhere, and waits for a cpu
    s = scene(1)
    first, _ = s.draft.task()
    second, _ = s.draft.task()
    s.submit()
    s.assign(first, second, priority=MOST)
    # when
    shares = Shares()
    shares.begin_run([s.node(0)], now=0.0)
    # then
    assert shares.of(s.world.task(first).session).ready < 2.0**62
