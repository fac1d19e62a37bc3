"""Several sessions on one governor that runs one task after the other."""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.server.core.messages import GovernorUpdated
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene
from tests.support.submissions import timed


def brought(
    s: Scene, client: FakeClient, tasks: int, hint: float, priority: int = 0
) -> list[TaskId]:
    """A new session with tasks of the duration that its user says; 0 says nothing."""
    draft = client.session()
    made = [
        (timed(draft, hint, priority=priority) if hint else draft.task(priority=priority))[0]
        for _ in range(tasks)
    ]
    client.submit(draft)
    return made


def run_best(s: Scene, count: int, seconds: float) -> list[TaskId]:
    """The governor runs this number of its best tasks, one after the other."""
    (governor,) = s.governors
    run: list[TaskId] = []
    for _ in range(count):
        ready = [s.world.task(task) for task in governor.runnable()]
        best = min(ready, key=lambda task: (-task.priority, task.order))
        update = governor.finished(best.id, size=10)
        update.finished.durations = [seconds]
        s.world.turn(GovernorUpdated(governor.id, update), after=seconds / 2)
        if governor.asked:
            governor.return_asked()
        run.append(best.id)
    return run
