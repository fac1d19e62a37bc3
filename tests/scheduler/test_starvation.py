"""Nobody starves: a task waits for few others, however many and whatever another session brings."""

from __future__ import annotations

import pytest

from rain.base.ids import ObjectId, TaskId
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.shipped import SCHEDULERS
from rain.server.core.messages import GovernorUpdated, Granted
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene_with
from tests.support.submissions import Draft, timed

PATIENCE = 100
"""The number of tasks of the other session that may start before."""


class Flood:
    """A session that brings new tasks for each one that ends."""

    def __init__(self, s: Scene, *, deeper: bool, hint: float) -> None:
        self._scene = s
        self._deeper = deeper
        self._hint = hint
        self._draft: Draft = s.client.session()
        self._last: list[ObjectId] = []

    def bring(self, count: int) -> None:
        """New tasks: alone, or a chain that goes on where the one before has ended."""
        draft = self._draft
        for _ in range(count):
            inputs = self._last[-1:] if self._deeper else []
            if self._hint:
                _, made = timed(draft, self._hint, *inputs)
            else:
                _, (made,) = draft.task(*inputs)
            self._last.append(made)
            draft.submission.kept.append(made)
        answer = self._scene.client.submit(draft)
        assert isinstance(answer, Granted), answer


def run_best(s: Scene, seconds: float) -> TaskId | None:
    """The governor runs the best of its tasks."""
    (governor,) = s.governors
    ready = [s.world.task(task) for task in governor.runnable()]
    if not ready:
        s.world.turn(after=seconds)
        return None
    best = min(ready, key=lambda task: (-task.priority, task.order))
    update = governor.finished(best.id, size=10)
    update.finished.durations = [seconds]
    s.world.turn(GovernorUpdated(governor.id, update), after=seconds)
    if governor.asked:
        governor.return_asked()
    return best.id


def single(client: FakeClient, hint: float) -> TaskId:
    draft = client.session()
    task, _ = timed(draft, hint) if hint else draft.task()
    client.submit(draft)
    return task


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("hint", [0.0, 0.5])
@pytest.mark.parametrize("deeper", [False, True], ids=["flat", "deeper"])
def test_a_single_task_starts_beside_a_session_that_never_ends(
    name: str, hint: float, deeper: bool
) -> None:
    # given
    s = scene_with(SCHEDULERS[name](), 2)
    flood = Flood(s, deeper=deeper, hint=hint)
    flood.bring(10)
    for _ in range(5):
        if run_best(s, hint or 0.01) is not None:
            flood.bring(1)
    # when
    wanted = single(s.world.client(), hint)
    # then
    for _ in range(PATIENCE):
        run = run_best(s, hint or 0.01)
        if run == wanted:
            return
        if run is not None:
            flood.bring(1)
    raise AssertionError(f"{PATIENCE} tasks of another session have started before")


def test_the_lead_of_tasks_that_use_data_up_is_one_second_of_work() -> None:
    """On `horizon`'s scale; so beside a chain of short tasks others wait for so long at most."""
    s = scene_with(HorizonScheduler(), 1)
    flood = Flood(s, deeper=True, hint=0.004)
    flood.bring(10)
    run_best(s, 0.004)
    wanted = single(s.world.client(), 0.004)
    for _ in range(int(1.25 / 0.004)):
        if run_best(s, 0.004) == wanted:
            return
        flood.bring(1)
    raise AssertionError("it has waited for more than a second of work")
