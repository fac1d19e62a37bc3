"""Moves the graph forward: tasks start and finish, objects become finished, their readers become
ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rain.base.copies import COPY_MOVES, CopyMove, CopyRow
from rain.base.runs import RUN_MOVES
from rain.base.states import ObjectMove, TaskMove
from rain.graph import planning, rules
from rain.graph.copy import Copy
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.run import Run
from rain.graph.task import DONE, Task


def start(task: Task, now: float) -> None:
    """The governor has started the task."""
    task.move(TaskMove.START)
    run = task.last_run()
    run.move(TaskMove.START)
    run.started = now


def block(task: Task, governor: Governor) -> None:
    """The task waits for other tasks, and takes no cpus meanwhile."""
    task.move(TaskMove.BLOCK)
    governor.active_cpus -= task.cpus


def resume(task: Task, governor: Governor) -> None:
    """The task goes on, and takes its cpus again."""
    task.move(TaskMove.RESUME)
    governor.active_cpus += task.cpus


def finish(tasks: Mapping[Task, float], governor: Governor) -> None:
    """The governor has finished these tasks, in this many seconds each.

    All were assigned to it, and none is ahead. `finish_objects` finishes their outputs next.
    """
    scheduled, assigned = governor.scheduled, governor.assigned
    finished = RUN_MOVES[TaskMove.FINISH]
    for task, seconds in tasks.items():
        task.move(TaskMove.FINISH)
        task.scheduled = task.assigned = None
        del scheduled[task]
        del assigned[task]
        kind = task.kind
        governor.active_cpus -= kind.resources.cpus
        if kind.constraints is not None:
            rules.leave_groups(task, governor)
        run = task.run or task.last_run()
        run.state = finished[run.state]  # along the table, without a call for each task
        run.duration = seconds
        task.session.unfinished -= 1


def adopt(task: Task, run: Run) -> None:
    """A ready task without a plan need not run, because its result exists already.

    Its output is finished next.
    """
    task.move(TaskMove.ADOPT)
    task.run = run
    task.session.unfinished -= 1


def adopt_object(data_object: DataObject, data: bytes) -> list[Task]:
    """The server has the bytes of what a task would make; returns the readers that became ready."""
    data_object.move(ObjectMove.FINISH)
    data_object.data, data_object.size = data, len(data)
    data_object.session.stored += len(data)
    waiting = [task for task in data_object.consumers if task.row not in DONE]
    for task in waiting:
        task.missing -= 1
        if not task.missing:
            planning.inputs_finished(task)
    return [task for task in waiting if not task.missing]


def finish_objects(
    objects: Sequence[DataObject], sizes: Iterable[int], governor: Governor
) -> list[Task]:
    """Outputs have been made on a governor; returns the consumers that became ready by them."""
    there, held = governor.objects, COPY_MOVES[CopyMove.MAKE][CopyRow.MAKING]
    ready: list[Task] = []
    for data_object, size in zip(objects, sizes, strict=True):
        data_object.move(ObjectMove.FINISH)
        copy = there[data_object] = Copy(data_object, governor, held)
        data_object.copies = (copy,)
        data_object.size = size
        data_object.session.stored += size
        for task in data_object.consumers:
            if task.row in DONE:  # it had read an earlier incarnation of this object
                continue
            task.missing -= 1
            if not task.missing:
                planning.inputs_finished(task)
                ready.append(task)
    return ready
