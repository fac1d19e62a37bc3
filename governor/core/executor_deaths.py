"""Decides what the end of an executor means for its tasks, and for those that wait for an
executor.
"""

from __future__ import annotations

from rain.base.runs import RunCause
from rain.common.printed import logs_of
from rain.governor.core.calling import Calls
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.endings import Endings, failure_at
from rain.governor.core.events import ExecutorDied
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.pressure import Pressure
from rain.governor.core.results import Failed
from rain.governor.core.tables import TaskMove, TaskRow


class ExecutorDeaths:
    """Decides which tasks have failed with an executor, which run again, and why."""

    def __init__(
        self,
        outbox: Outbox,
        pool: Pool,
        calls: Calls,
        dispatch: Dispatch,
        endings: Endings,
        pressure: Pressure,
    ) -> None:
        self._outbox = outbox
        self._pool = pool
        self._calls = calls
        self._dispatch = dispatch
        self._endings = endings
        self._pressure = pressure

    def died(self, event: ExecutorDied) -> None:
        """An executor has ended; only the task that it was running has failed.

        If the machine lacked something for Rain's own part of the task, it is handed back instead.
        """
        gone = self._pool.died(event.executor, event.unstarted)
        if gone is None:
            return
        executor, started = gone
        for task in started:
            if task.row is TaskRow.FOLLOWING:
                self._calls.not_run(task)  # it misses what a call before it has not made
            elif task.row is TaskRow.CANCELLING:
                task.move(TaskMove.END)
                self._outbox.ended(task)
            elif event.by_kernel is not None:
                killed = self._pressure.killed_by_kernel(task, event.by_kernel, event.status)
                self._endings.end(task, 0.0, 0.0, killed)
            elif event.short:
                self._endings.fail(task, Failed(event.cause, cause=RunCause.NOT_STARTED))
            else:
                lost = f"Lost connection to the executor: {event.cause}"
                message = failure_at(task, event.place, lost)
                failed = Failed(message, cause=RunCause.EXECUTOR, status=event.status)
                self._endings.end(task, 0.0, 0.0, failed)
                self._endings.note_logs(task, logs_of(event.printed))
        if not executor.ready:
            self._blame_failed_start(executor.runner, event)

    def _blame_failed_start(self, runner: str, event: ExecutorDied) -> None:
        """An executor could not start. One task fails for it; else the tasks would wait forever.

        If the machine lacked resources for it, the task is handed back instead. If it was the
        environment that could not be made, none of the tasks can run.
        """
        groups = [g for g in self._dispatch.groups.values() if g.runner == runner and g.count]
        if event.without_environment and not event.short:
            for group in groups:
                while group.count:
                    self._endings.fail(group.first(), Failed(event.cause))
        elif groups:
            task = min(groups, key=lambda group: group.rank()).first()
            if event.short:
                failed = Failed(event.cause, cause=RunCause.NOT_STARTED)
            else:
                message = f"The executor unexpectedly terminated: {event.cause}"
                failed = Failed(message, cause=RunCause.EXECUTOR, status=event.status)
            self._endings.fail(task, failed)
