"""Where tasks shall run: choosing, withdrawing, telling. The sets of both sides change together.

A governor's `active_cpus` is the sum over its tasks that are planned and ready (queued, assigned or
running); it changes here and where tasks end.
"""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.base.states import TaskMove, TaskRow
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.task import Task


def plan(task: Task, governor: Governor, priority: int = 0) -> None:
    """Chooses a governor for a task that has none."""
    task.move(TaskMove.PLAN)
    task.scheduled = governor
    task.priority = priority
    governor.scheduled[task] = None
    for output in task.outputs:
        if not output.is_finished:  # else it is only made again for the sake of another output
            output.schedule_on(governor)
    if task.row is TaskRow.QUEUED:
        _enter_queue(task, governor)


def inputs_finished(task: Task) -> None:
    """The last missing input is finished: a planned task enters its governor's queue."""
    task.move(TaskMove.INPUTS_FINISHED)
    if task.row is TaskRow.QUEUED:
        _enter_queue(task, _governor_of(task))


def input_lost(task: Task) -> None:
    """A finished input is being made anew: the task waits again. It must not be assigned."""
    if task.row is TaskRow.QUEUED:
        _leave_queue(task, _governor_of(task))
    if task.row is not TaskRow.WAITING and task.row is not TaskRow.PLANNED:
        task.move(TaskMove.INPUT_LOST)
    task.missing += 1


def assign(task: Task) -> Governor:
    """Its governor is being told to run it. The caller has taken it out of the queue."""
    task.move(TaskMove.ASSIGN)
    governor = _governor_of(task)
    task.assigned = governor
    task.attempt += 1
    task.started = 0.0
    governor.assigned[task] = None
    for output in task.outputs:
        if not output.is_finished:
            output.assign_to(governor)
    return governor


def withdraw(task: Task, why: TaskMove = TaskMove.TAKE_BACK) -> None:
    """Undoes the choice of a governor, and the assignment too if there is one."""
    governor = _governor_of(task)
    queued = task.row is TaskRow.QUEUED
    was_active = task.row is not TaskRow.PLANNED
    task.move(why)
    if queued:
        governor.queue.remove(task)
    if was_active:
        governor.active_cpus -= task.cpus
    _detach(task, governor)
    for output in task.outputs:
        if not output.is_finished:
            output.leave(governor)


def end(task: Task, how: TaskMove) -> Governor:
    """An assigned task has finished or failed: its governor's resources are vacated."""
    governor = _governor_of(task)
    task.move(how)
    governor.active_cpus -= task.cpus
    _detach(task, governor)
    return governor


def expect(data_object: DataObject) -> tuple[Governor, ...]:
    """The object has become unfinished: only its producer's governor counts from now on.

    That one may be at work already, to make another output again. Returns all others who have a
    copy or fetch one.
    """
    producer = data_object.producer
    maker = producer.scheduled if producer is not None else None
    told = producer.assigned if producer is not None else None
    former = data_object.assigned
    for governor in (*data_object.scheduled, *former):
        governor.objects.pop(data_object, None)
    data_object.scheduled = data_object.assigned = data_object.located = ()
    if maker is not None:
        data_object.schedule_on(maker)
    if told is not None:
        data_object.assign_to(told)
    return tuple(governor for governor in former if governor is not told)


def order_copy(data_object: DataObject, governor: Governor) -> None:
    """The scheduler wants a copy of a finished object on a governor."""
    data_object.schedule_on(governor)


def _detach(task: Task, governor: Governor) -> None:
    task.scheduled = None
    task.assigned = None
    del governor.scheduled[task]
    governor.assigned.pop(task, None)


def _governor_of(task: Task) -> Governor:
    if task.scheduled is None:
        raise InvariantError(f"{task!r} has no governor")
    return task.scheduled


def _enter_queue(task: Task, governor: Governor) -> None:
    governor.queue.add(task)
    governor.active_cpus += task.cpus


def _leave_queue(task: Task, governor: Governor) -> None:
    governor.queue.remove(task)
    governor.active_cpus -= task.cpus
