"""The example plugin deals tasks out like cards."""

from __future__ import annotations

from rain.base.states import TaskRow
from rain.scheduler.round_robin import RoundRobinScheduler
from tests.support.scenes import scene_with


def test_tasks_go_to_the_governors_in_turn() -> None:
    s = scene_with(RoundRobinScheduler(), 1, 1, 1)
    tasks = [s.draft.task()[0] for _ in range(7)]
    s.submit()
    assert list(s.governors[0].tasks) == tasks[0::3]
    assert list(s.governors[1].tasks) == tasks[1::3]
    assert list(s.governors[2].tasks) == tasks[2::3]


def test_a_governor_that_a_task_does_not_fit_is_passed_over() -> None:
    s = scene_with(RoundRobinScheduler(), 1, 4)
    tall = [s.draft.task(cpus=3)[0] for _ in range(2)]
    s.submit()
    assert s.governors[0].told == []
    assert list(s.governors[1].tasks) == tall


def test_a_task_that_fits_nowhere_waits_for_a_governor_that_joins_later() -> None:
    s = scene_with(RoundRobinScheduler(), 1)
    tall, _ = s.draft.task(cpus=3)
    s.submit()
    assert s.world.task(tall).row is TaskRow.READY
    assert tall in s.world.governor(4).tasks


def test_tasks_of_a_closed_session_are_forgotten() -> None:
    s = scene_with(RoundRobinScheduler())
    s.draft.task()
    s.submit()
    s.client.close(s.draft.session)
    assert s.world.governor(1).told == []
