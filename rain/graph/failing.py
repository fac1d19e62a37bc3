"""Fails or cancels tasks for good, with everything that depends on them.

In a session that goes on after failures, the objects of a failed task fail with it, the tasks that
read them are skipped, their objects fail, and so on. Everything else stays as it is. Tasks that
depend on a cancelled one are cancelled, too. A finished task stays finished even if an object that
it has read cannot be made again.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define

from rain.base.errors import InvariantError
from rain.base.failures import SessionFailure
from rain.base.runs import RunCause
from rain.base.states import ObjectMove, ObjectState, TaskMove, TaskRow
from rain.graph import claims, planning, references
from rain.graph.data_object import DataObject
from rain.graph.run import Ending
from rain.graph.task import Task

_READY = (TaskRow.READY, TaskRow.PAUSED, TaskRow.LIMITED)


@define
class Fallout:
    """Everything that has failed, with the resulting orders for governors."""

    failure: SessionFailure
    ending: Ending  # of the runs that are stopped
    tasks: list[Task] = Factory(list)
    cancelled: list[planning.Stopped] = Factory(list)  # runs that are told to end
    objects: list[DataObject] = Factory(list)
    stopped: list[planning.Stopped] = Factory(list)
    free: list[DataObject] = Factory(list)  # inputs that are not needed any more


def fail(tasks: Iterable[Task], failure: SessionFailure, now: float) -> Fallout:
    """Tasks will not run (again), unless they are done."""
    fallout = _fallout(failure, now)
    for task in tasks:
        if not task.is_done:
            _end(task, fallout)
    return _spread(fallout)


def spoil(data_object: DataObject, failure: SessionFailure, now: float) -> Fallout:
    """An object that is unfinished, or has failed before, will not be made (again)."""
    fallout = _fallout(failure, now)
    _fail_object(data_object, fallout)
    return _spread(fallout)


def failure_of(data_object: DataObject) -> SessionFailure:
    """Why an object will never be made."""
    producer = data_object.producer
    if producer is None or producer.failure is None:
        raise InvariantError(f"{data_object!r} cannot be made, and no failed task is to blame")
    return producer.failure


def was_cancelled(node: Task | DataObject) -> bool:
    """Whether a task, or the one that makes an object, was cancelled, or what it needs."""
    task = node if isinstance(node, Task) else node.producer
    return task is not None and task.failure is not None and task.failure.cancelled


def _fallout(failure: SessionFailure, now: float) -> Fallout:
    cause = RunCause.CANCELLED if failure.cancelled else RunCause.GIVEN_UP
    return Fallout(failure, Ending(now, cause))


def _spread(fallout: Fallout) -> Fallout:
    for data_object in fallout.objects:  # grows while it is walked
        for task in data_object.consumers:
            if not task.is_done:
                _end(task, fallout)
    return fallout


def _end(task: Task, fallout: Fallout) -> None:
    if fallout.failure.cancelled:
        _cancel(task, fallout)
    else:
        if task.scheduled is not None:
            fallout.stopped += planning.take_back(task, fallout.ending)
        task.move(TaskMove.FAIL if task.row in _READY else TaskMove.SKIP)
    task.failure = fallout.failure
    task.session.unfinished -= 1
    fallout.tasks.append(task)
    for output in task.outputs:
        if output.state is ObjectState.UNFINISHED:
            _fail_object(output, fallout)
    fallout.free += claims.never_reading((task,))


def _cancel(task: Task, fallout: Fallout) -> None:
    """Its followers are among the tasks that depend on it, so they need not be recalled."""
    if task.assigned is not None:
        fallout.cancelled.append(planning.stopped(task))
        planning.cancel(task)
        return
    if task.scheduled is not None:
        planning.withdraw(task, fallout.ending)
    task.move(TaskMove.CANCEL)


def _fail_object(data_object: DataObject, fallout: Fallout) -> None:
    if data_object.state is ObjectState.UNFINISHED:
        data_object.move(ObjectMove.FAIL)
        if data_object.session.contents:  # of before it was lost
            fallout.free += references.let_go(data_object)
    fallout.objects.append(data_object)
