"""Going forward: tasks that start and finish, objects that become finished, their consumers."""

from __future__ import annotations

from rain.base.states import ObjectMove, TaskMove
from rain.graph import planning
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.task import Task


def start(task: Task, now: float) -> None:
    """Its governor has started it."""
    task.move(TaskMove.START)
    task.started = now


def finish(task: Task) -> Governor:
    """Its governor has finished it. Its outputs are finished next, one by one."""
    governor = planning.end(task, TaskMove.FINISH)
    task.governor_address = governor.address
    task.session.unfinished -= 1
    return governor


def finish_object(data_object: DataObject, governor: Governor, size: int) -> list[Task]:
    """An output has been made on a governor; returns the consumers that became ready by it."""
    alone = governor.alone
    if data_object.assigned is alone and data_object.scheduled is alone:
        data_object.located = alone  # as nearly always
    else:
        data_object.schedule_on(governor)
        data_object.assign_to(governor)
        data_object.locate_on(governor)
    if data_object.is_finished:  # made again for the sake of another output: one more copy
        return []
    data_object.move(ObjectMove.FINISH)
    data_object.size = size
    ready: list[Task] = []
    for task in data_object.consumers:
        if task.is_done:  # it had read an earlier incarnation of this object
            continue
        task.missing -= 1
        if not task.missing:
            planning.inputs_finished(task)
            ready.append(task)
    return ready


def consumed(task: Task) -> list[DataObject]:
    """The task needs its inputs no more; returns those that nobody else needs either."""
    free: list[DataObject] = []
    for data_object in task.unique_inputs():
        data_object.needed_by -= 1
        if not data_object.needed_by and not data_object.kept:
            free.append(data_object)
    return free
