"""Restores the plans of a graph after code other than ours has changed its nodes.

A run has the governor that was sent its task and whether it is open, and objects say whether they
are finished. So the state of every task follows from these. Tasks that were not sent to any
governor lose their plans.
"""

from __future__ import annotations

from rain.base.address import Source
from rain.base.runs import RunState
from rain.base.states import TASK_FACTS, ObjectState, TaskRow
from rain.graph import rules
from rain.graph.governor import Governor
from rain.graph.graph import Graph
from rain.graph.ready_queue import ReadyQueue
from rain.graph.task import Task


def plan_anew(graph: Graph) -> None:
    """Restores the plans that were sent to governors, and takes back all others."""
    places: dict[Source, Governor] = {}
    for governor in graph.governors.values():
        places[governor.place] = governor
        governor.scheduled, governor.assigned, governor.groups = {}, {}, {}
        governor.asked, governor.expected = {}, {}
        governor.queue = ReadyQueue()
        governor.followers.clear()
        governor.ahead = governor.active_cpus = 0
    for task in graph.tasks.values():
        task.scheduled = task.assigned = None
        if task.run is not None and task.run.is_open:
            _restore(task, places[task.run.place])
        elif task.failure is not None:
            _give_row(task, _ENDS[task.failure.cancelled])
        elif _has_finished(task):
            _give_row(task, (TaskRow.FINISHED,))
        else:
            task.missing = _missing(task)
            _fit_row(task, TaskRow.WAITING if task.missing else TaskRow.READY)


_ENDS = {True: (TaskRow.CANCELLED,), False: (TaskRow.FAILED, TaskRow.SKIPPED)}


def _missing(task: Task) -> int:
    return sum(not one.is_finished for one in task.unique_inputs())


def _has_finished(task: Task) -> bool:
    if task.run is None or task.run.state is not RunState.FINISHED:
        return False
    return all(output.state is not ObjectState.UNFINISHED for output in task.outputs)


def _restore(task: Task, governor: Governor) -> None:
    """The governor was told to run the task."""
    task.scheduled = task.assigned = governor
    governor.scheduled[task] = governor.assigned[task] = None
    task.missing = _missing(task)
    if task.row is TaskRow.ASKED:  # it is not known any more where it was to go; the answer comes
        task.row = TaskRow.ASSIGNED
    if task.failure is not None:
        task.row = TaskRow.CANCELLING
    elif task.last_run().state is RunState.RUNNING:
        _fit_row(task, TaskRow.RUNNING)
    else:
        _fit_row(task, TaskRow.AHEAD if task.missing else TaskRow.ASSIGNED)
    if task.kind.constraints is not None:
        rules.enter_groups(task, governor)
    if task.row is TaskRow.AHEAD:
        governor.ahead += 1
    elif task.row is not TaskRow.BLOCKED:
        governor.active_cpus += task.cpus


def _give_row(task: Task, ends: tuple[TaskRow, ...]) -> None:
    """The task is done: one of these rows, the first one unless it is in another."""
    if task.row not in ends:
        task.row, task.missing = ends[0], 0


def _fit_row(task: Task, usual: TaskRow) -> None:
    """Gives a task its usual row, unless it is in another one with the same facts."""
    then = TASK_FACTS[usual]
    for row, now in TASK_FACTS.items():
        if row is task.row:  # it may be anything by now
            same = (now.state, now.scheduled, now.ready, now.assigned, now.queued)
            if same == (then.state, then.scheduled, then.ready, then.assigned, then.queued):
                return
    task.row = usual
