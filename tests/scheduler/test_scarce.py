"""What is scarce is shared out by how much of it there is."""

from __future__ import annotations

import pytest

from rain.scheduler.api import Scheduler
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.rain import RainScheduler
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.world import World, new_world

BOTH = pytest.mark.parametrize("scheduler", [HorizonScheduler, RainScheduler])


def a_world(scheduler: Scheduler) -> World:
    return new_world(lambda: scheduler, settings=ReactorSettings(debug=True, governor_silence=1e9))


@BOTH
def test_tasks_with_gpus_are_dealt_out_by_gpus_and_not_by_cpus(scheduler: type[Scheduler]) -> None:
    world = a_world(scheduler())
    governors = [world.governor(16, gpus=1), world.governor(2, gpus=3), world.governor(16)]
    client = world.client()
    draft = client.session()
    for _ in range(12):
        draft.task(gpus=1, keep=True)
    # when
    client.submit(draft)
    # then: cpus bound the second one at two at a time
    assert [len(governor.tasks) for governor in governors] == [4, 8, 0]


@BOTH
def test_tasks_without_gpus_go_by_cpus_also_where_gpus_are(scheduler: type[Scheduler]) -> None:
    world = a_world(scheduler())
    governors = [world.governor(3, gpus=1), world.governor(1, gpus=3)]
    client = world.client()
    draft = client.session()
    for _ in range(8):
        draft.task(keep=True)
    client.submit(draft)
    assert [len(governor.tasks) for governor in governors] == [6, 2]


@BOTH
def test_idle_cpus_do_not_draw_tasks_to_where_gpus_are_taken(scheduler: type[Scheduler]) -> None:
    # given: all gpus have equally much to do, and the first governor has idle cpus
    world = a_world(scheduler())
    governors = [world.governor(16, gpus=1), world.governor(1, gpus=1)]
    client = world.client()
    draft = client.session()
    for _ in range(6):
        draft.task(gpus=1, keep=True)
    # when
    client.submit(draft)
    world.turn()
    # then
    assert [len(governor.tasks) for governor in governors] == [3, 3]
