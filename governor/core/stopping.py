"""Stops runs that the server does not want any more, and all runs of a session that ends.

A stopped run leaves the tables at once. Its executor, or the run inside the governor, may need a
while to end. Until then it keeps its resources (see `cancelling`), and its results are ignored.
"""

from __future__ import annotations

from rain.base.ids import SessionId, TaskId, session_of
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.orders import AskedRuns, CancelledRuns, Orders
from rain.governor.core.asked_back import AskedBack
from rain.governor.core.dispatch import Dispatch
from rain.governor.core.effects import EndStrays, StopBuiltin
from rain.governor.core.endings import Endings
from rain.governor.core.nodes import DataObject, Session, Task
from rain.governor.core.objects import Objects
from rain.governor.core.outbox import Outbox
from rain.governor.core.pool import Pool
from rain.governor.core.tables import TaskMove, TaskRow


class Stopping:
    """Stops runs, and knows the sessions that were forgotten while some of their tasks run."""

    def __init__(
        self,
        sessions: dict[SessionId, Session],
        outbox: Outbox,
        objects: Objects,
        dispatch: Dispatch,
        pool: Pool,
        endings: Endings,
        asked_back: AskedBack,
    ) -> None:
        self._sessions = sessions
        self._outbox = outbox
        self._objects = objects
        self._dispatch = dispatch
        self._pool = pool
        self._endings = endings
        self._asked_back = asked_back
        self.leaving: dict[SessionId, None] = {}  # forgotten, but some of their tasks may still run

    def apply(self, orders: Orders) -> None:
        """Runs that the server does not want, or wants elsewhere."""
        for task_id, number in zip(orders.stop_ids, orders.stop_runs, strict=True):
            self._stop(task_id, number)
        self._cancel(orders.cancelled)
        self._ask_back(orders.asked)

    def _stop(self, task_id: TaskId, number: int) -> None:
        """Stops this run, but no other run of the same task."""
        task = self._find(task_id, number)
        if task is not None:
            self._halt(task)
            self._endings.abandon(task)

    def _cancel(self, cancelled: CancelledRuns) -> None:
        """Ends these runs, and reports each when it has ended. The others were reported."""
        for task_id, number, grace in zip(
            cancelled.ids, cancelled.runs, cancelled.graces, strict=True
        ):
            task = self._find(task_id, number)
            if task is None:
                continue
            task.cancelled = True
            task.grace = None if grace == OWN_GRACE else grace
            self._halt(task)
            if task.row is TaskRow.STOPPED:
                self._outbox.ended(task)
            self._endings.abandon(task)

    def _ask_back(self, asked: AskedRuns) -> None:
        """The server wants these runs elsewhere. Those that are over were reported."""
        for task_id, number in zip(asked.ids, asked.runs, strict=True):
            task = self._find(task_id, number)
            if task is not None:
                self._asked_back.ask(task)

    def _find(self, task_id: TaskId, number: int) -> Task | None:
        """Returns the task if it is here, and if this run of it is meant."""
        session = self._sessions.get(session_of(task_id))
        task = None if session is None else session.tasks.get(task_id)
        return task if task is not None and task.number == number else None

    def _halt(self, task: Task) -> None:
        """Ends the work on a task; the caller removes it from the tables."""
        row = task.row
        task.move(TaskMove.STOP)
        if row is TaskRow.READY:
            task.group.leave()
        elif row is TaskRow.HELD_BACK:
            self._dispatch.back_pressure.leave(task)
        elif task.executor is not None:
            self._pool.recall(task.executor)
        elif task.run:
            self._outbox.effects.append(StopBuiltin(task.run, task.grace))

    def forget_session(self, session_id: SessionId) -> list[DataObject]:
        """Removes everything of a session, and interrupts its running tasks.

        Returns the objects that tasks of other sessions still read.
        """
        session = self._sessions.pop(session_id, None)
        if session is None:
            return []
        for task in session.tasks.values():
            self._halt(task)
            if task.group is not task.kind.group:
                task.group.kinds -= 1
            for target in task.inputs:
                if target.session is session:
                    target.consumers -= 1
                else:
                    self._objects.unread(target, task)
        session.tasks.clear()
        read = [target for target in session.objects.values() if target.consumers]
        self._objects.forget_all(session)
        for kind in session.task_kinds.values():
            self._dispatch.leave_group(kind.group)
        self._dispatch.with_priorities.pop(session_id, None)
        self._pool.forget_session(session_id)
        self.leaving[session_id] = None
        return read

    def end_strays(self) -> None:
        """The remains of tasks of forgotten sessions go when the last of these tasks has ended."""
        in_hand = [task for executor in self._pool.busy.values() for task in executor.calls]
        in_hand += self._dispatch.runs.values()
        busy = {session_of(task.id) for task in in_hand}
        over = [session for session in self.leaving if session not in busy]
        if over:
            self._outbox.effects.append(EndStrays(over))
            for session in over:
                del self.leaving[session]
