"""Returns tasks that the server asks back, if they have not started.

The server wants to run such a task elsewhere, and does so only after the task was returned. A task
that waits in the governor is returned at once. A call that was sent to an executor may have
started. So the calls that the executor has not started are taken back, as when a task is stopped;
then the governor knows whether the task has started. If the task has started, the server gets the
news of its start; if it has ended meanwhile, of its end.
"""

from __future__ import annotations

from rain.governor.core.back_pressure import BackPressure
from rain.governor.core.endings import Endings
from rain.governor.core.nodes import Task
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.tables import TaskMove, TaskRow

_WAITS = (TaskRow.WAITING, TaskRow.READY, TaskRow.HELD_BACK, TaskRow.ASKING)


class AskedBack:
    """The tasks that were asked back and are not answered yet."""

    def __init__(
        self, outbox: Outbox, pool: Pool, endings: Endings, back_pressure: BackPressure
    ) -> None:
        self._outbox = outbox
        self._pool = pool
        self._endings = endings
        self._back_pressure = back_pressure
        self.asked: dict[Task, None] = {}

    def ask(self, task: Task) -> None:
        """The server asks for a task that is here."""
        self.asked[task] = None
        if task.executor is not None:
            self._pool.recall(task.executor)

    def answer(self) -> None:
        """Answers for the tasks whose state is known; call it before anything is started."""
        for task in list(self.asked):
            executor = task.executor
            if task.row in _WAITS:
                self._return(task)
            elif executor is not None and (executor.recalling or executor.dying):
                continue  # it is known soon
            elif task.row is TaskRow.RUNNING and executor is not None and not task.reported:
                task.reported = True
                self._outbox.started(task, executor.progress)
            # All others have ended, or are about to, or the server has heard of their start.
            del self.asked[task]

    def _return(self, task: Task) -> None:
        if task.row is TaskRow.READY:
            task.group.leave()
        elif task.row is TaskRow.HELD_BACK:
            self._back_pressure.leave(task)
        task.move(TaskMove.STOP)
        self._outbox.returned(task)
        self._endings.abandon(task)
