"""Each task on the governor that it fits best, so that the large ones stay free for large tasks."""

from __future__ import annotations

from random import Random

import pytest
from attrs import evolve

from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.scheduler.shipped import SCHEDULERS
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene_with

SIZES = (1, 2, 3, 4, 5, 6)

FITTING = [name for name in SCHEDULERS if name not in {"random", "round-robin"}]
"""Those that compare governors at all."""


def brought(s: Scene, client: FakeClient, cpus: int, hint: float) -> TaskId:
    """A new session with one task that needs this number of cpus."""
    draft = client.session()
    task, _ = draft.task(cpus=cpus)
    (kind,) = draft.submission.task_kinds
    draft.submission.task_kinds[0] = evolve(kind, duration_hint=hint)
    client.submit(draft)
    return task


def in_any_order(seed: int) -> list[int]:
    order = [*SIZES]
    Random(seed).shuffle(order)
    return order


@pytest.mark.parametrize("name", FITTING)
@pytest.mark.parametrize("hint", [0.0, 0.0001, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_each_task_starts_at_once_on_the_governor_of_its_size(
    name: str, hint: float, seed: int
) -> None:
    # given: governors of 1 to 6 cpus, in any order
    s = scene_with(SCHEDULERS[name](), *in_any_order(seed))
    # when: tasks of 1 to 6 cpus come one after the other
    tasks = {cpus: brought(s, s.client, cpus, hint) for cpus in in_any_order(seed + 100)}
    # then
    for cpus, task_id in tasks.items():
        task = s.world.task(task_id)
        assert task.row is TaskRow.ASSIGNED, task
        assert task.assigned is not None
        assert task.assigned.cpus == cpus


@pytest.mark.parametrize("name", FITTING)
@pytest.mark.parametrize("hint", [0.0, 2.0])
def test_tasks_of_all_sizes_that_come_together_find_their_governors(name: str, hint: float) -> None:
    s = scene_with(SCHEDULERS[name](), *in_any_order(1))
    draft = s.client.session()
    made = {cpus: draft.task(cpus=cpus)[0] for cpus in in_any_order(2)}
    draft.submission.task_kinds[:] = [
        evolve(kind, duration_hint=hint) for kind in draft.submission.task_kinds
    ]
    s.client.submit(draft)
    for cpus, task_id in made.items():
        task = s.world.task(task_id)
        assert task.assigned is not None
        assert task.assigned.cpus == cpus
