"""Tasks that governors return because the server has asked for them, before they have started.

Only after that such a task may go elsewhere. If its new governor is known, it goes there in the
same turn; if not, the scheduler plans it anew. A governor does not return a task that it has
started: it reports the start.
"""

from __future__ import annotations

from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.base.wire.update import Update
from rain.graph import Governor, Task, planning
from rain.graph.run import Ending
from rain.server.core import failing
from rain.server.core.state import State


def apply(state: State, governor: Governor, update: Update) -> None:
    """Takes back the tasks that an update returns."""
    for task_id, number in zip(update.returned_ids, update.returned_runs, strict=True):
        task = state.graph.tasks.get(task_id)
        if task is None or task.assigned is not governor or task.last_run().number != number:
            state.ignored += 1  # it was stopped meanwhile
        elif task.row is TaskRow.CANCELLING:
            failing.end_cancelled(state, governor, task)
        else:
            _return(state, governor, task)


def _return(state: State, governor: Governor, task: Task) -> None:
    ending = Ending(state.now, RunCause.TAKEN_BACK)
    for stopped in planning.recall_followers(task, state.now):
        state.stop(*stopped)
        if governor.rests:
            planning.withdraw(stopped.task, ending)
            state.news.unplanned[stopped.task] = None
    target = planning.returned(task, ending)
    state.forget_outputs(governor, task)
    state.touched[governor] = None
    if target is None:
        state.news.unplanned[task] = None
    else:
        state.touched[target] = None
