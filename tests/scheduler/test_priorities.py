"""Priorities decide within a session, with every scheduler; between sessions fair shares do."""

from __future__ import annotations

import pytest

from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.shipped import SCHEDULERS
from tests.scheduler.sharing import brought, run_best
from tests.support.scenes import scene_with
from tests.support.submissions import timed


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("hint", [0.0001, 0.5])
def test_a_governor_is_told_at_once_of_what_goes_before_its_waiting_tasks(
    name: str, hint: float
) -> None:
    # given: a governor has been told of as much as it may be, or as much as is planned
    s = scene_with(SCHEDULERS[name](), 1)
    for _ in range(300):
        timed(s.draft, hint)
    s.submit()
    told = len(s.node(0).assigned)
    assert told
    # when
    urgent, _ = timed(s.draft, hint, priority=1)
    s.submit()
    # then
    if name == "blevel":  # it plans nothing that could not start
        s.governors[0].finish(next(iter(s.node(0).assigned)).id)
    assert s.world.task(urgent).assigned is s.node(0)


@pytest.mark.parametrize("hint", [0.001, 0.5])
def test_a_large_priority_gives_a_session_no_more_than_its_share(hint: float) -> None:
    # given
    s = scene_with(HorizonScheduler(), 2)
    first = brought(s, s.client, 60, hint)
    run_best(s, 20, hint)
    second = brought(s, s.world.client(), 60, hint, priority=1000)
    # when
    run = run_best(s, 40, hint)
    # then
    assert abs(len({*run} & {*first}) - len({*run} & {*second})) <= 6


def test_a_producer_of_low_priority_runs_before_its_urgent_reader() -> None:
    s = scene_with(HorizonScheduler(), 1)
    make, (made,) = s.draft.task(priority=-5)
    read, _ = s.draft.task(made, priority=5)
    s.submit()
    s.governors[0].finish(make)
    s.governors[0].finish(read)
    assert s.world.task(read).is_done
