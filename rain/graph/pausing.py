"""Tasks that pause between two tries: they take no resources, and are not planned.

The graph has a heap of the pauses, ordered by their ends. An entry has a task and its last run. If
the task is not pausing after this run any more (it was cancelled, waits for a lost input, or is
gone), the entry is dropped when its time has come.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf

from rain.base.ids import session_of
from rain.base.states import TaskMove, TaskRow
from rain.graph.graph import Graph
from rain.graph.session import Session
from rain.graph.task import Task


def pause(graph: Graph, task: Task, end: float) -> None:
    """A task whose run has failed is not tried again before that time."""
    task.move(TaskMove.PAUSE)
    heappush(graph.pauses, (end, task.id, task.last_run().number))


def end_pauses(graph: Graph, now: float) -> list[Task]:
    """The tasks that have paused for long enough; they are ready, and need a plan."""
    pauses = graph.pauses
    ready: list[Task] = []
    while pauses and pauses[0][0] <= now:
        _, task_id, run = heappop(pauses)
        task = graph.tasks.get(task_id)
        if task is not None and is_pausing(task, run):
            task.move(TaskMove.END_PAUSE)
            ready.append(task)
    return ready


def is_pausing(task: Task, run: int) -> bool:
    """Whether the task pauses after this run of it."""
    return task.row is TaskRow.PAUSED and task.last_run().number == run


def pauses_until(graph: Graph, task: Task) -> float:
    """When the pause of a task ends; the heap is searched, which is for people."""
    ends = (
        end for end, task_id, run in graph.pauses if task_id == task.id and is_pausing(task, run)
    )
    return next(ends, inf)


def forget_pauses(graph: Graph, session: Session) -> None:
    """The session has ended, and its tasks with it."""
    graph.pauses = [one for one in graph.pauses if session_of(one[1]) != session.id]
    heapify(graph.pauses)
