"""Finds the task of a reported run; reports of any other than the open run of a task are
ignored.
"""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.base.states import TaskRow
from rain.graph import Governor, Task, moving
from rain.server.core.state import State


def task_of_run(state: State, governor: Governor, task_id: TaskId, number: int) -> Task | None:
    """The task of which this is the open run, on this governor.

    If the governor was asked to return it, it has begun it instead: so it stays.
    """
    task = state.graph.tasks.get(task_id)
    if (
        task is None
        or task.assigned is not governor
        or task.run is None
        or task.run.number != number
    ):
        state.ignored += 1
        return None
    if task.row is TaskRow.ASKED:
        moving.stay(task)
    return task
