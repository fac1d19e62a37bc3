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
        task.restore(*_facts_of(task))
        if task.run is not None and task.run.is_open:
            _take_in(task, places[task.run.place])


_ENDS = {True: (TaskRow.CANCELLED,), False: (TaskRow.FAILED, TaskRow.SKIPPED)}


def _facts_of(task: Task) -> tuple[TaskRow, int]:
    """Its row, and how many of its inputs are missing, as its run and its inputs say."""
    if task.run is None or not task.run.is_open:
        if task.failure is not None:
            return _end_of(task, _ENDS[task.failure.cancelled])
        if _has_finished(task):
            return _end_of(task, (TaskRow.FINISHED,))
        missing = _missing(task)
        return _kept(task, TaskRow.WAITING if missing else TaskRow.READY), missing
    missing = _missing(task)
    if task.failure is not None:
        return TaskRow.CANCELLING, missing
    if task.run.state is RunState.RUNNING:
        return _kept(task, TaskRow.RUNNING), missing
    return _kept(task, TaskRow.AHEAD if missing else TaskRow.ASSIGNED), missing


def _missing(task: Task) -> int:
    return sum(not one.is_finished for one in task.unique_inputs())


def _has_finished(task: Task) -> bool:
    if task.run is None or task.run.state is not RunState.FINISHED:
        return False
    return all(output.state is not ObjectState.UNFINISHED for output in task.outputs)


def _end_of(task: Task, ends: tuple[TaskRow, ...]) -> tuple[TaskRow, int]:
    """The task is done: one of these rows, the first one unless it is in another."""
    return (task.row, task.missing) if task.row in ends else (ends[0], 0)


def _kept(task: Task, usual: TaskRow) -> TaskRow:
    """The row of the task if it says the same as its usual row; it may be anything by now.

    Of a task that was asked back it is not known any more where it was to go; the answer comes.
    """
    then = TASK_FACTS[usual]
    for row, now in TASK_FACTS.items():
        if row is task.row and row is not TaskRow.ASKED:
            same = (now.state, now.scheduled, now.ready, now.assigned, now.queued)
            if same == (then.state, then.scheduled, then.ready, then.assigned, then.queued):
                return row
    return usual


def _take_in(task: Task, governor: Governor) -> None:
    """The governor was told to run the task."""
    task.scheduled = task.assigned = governor
    governor.scheduled[task] = governor.assigned[task] = None
    if task.kind.constraints is not None:
        rules.enter_groups(task, governor)
    if task.row is TaskRow.AHEAD:
        governor.ahead += 1
    elif task.row is not TaskRow.BLOCKED:
        governor.active_cpus += task.cpus
