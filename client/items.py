"""Checks and sorts the tasks and objects that are passed to the methods of a session."""

from collections.abc import Container, Iterable
from operator import attrgetter
from typing import TypeGuard

from rain.base import states as base_states
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import ObjectReport, TaskReport
from rain.client.data import DataObject, finished_state
from rain.client.reports import object_info, task_info
from rain.client.rpc.common import WITHOUT_RESULT, DataObjectState, TaskState
from rain.client.task import Task
from rain.common.errors import RainException

_session_of, _submission_of = attrgetter("session"), attrgetter("submission")


def submitted_items(
    session: object, items: Iterable[Task | DataObject]
) -> tuple[list[Task], list[DataObject]]:
    """The tasks and the objects among the items, all of which were submitted to the session."""
    given = list(items)
    if _are_all_submitted(given, session):
        return given, []
    tasks: list[Task] = []
    objects: list[DataObject] = []
    for item in given:
        if isinstance(item, Task):
            tasks.append(item)
        elif isinstance(item, DataObject):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
            objects.append(item)
        else:
            raise TypeError(f"{item!r} is neither a task nor a data object")
        if item.session is not session:
            raise RainException(f"{item!r} belongs to another session")
        if not item.submission:
            raise RainException(f"{item!r} was not submitted: call session.submit() first")
    return tasks, objects


def _are_all_submitted(given: list[Task | DataObject], session: object) -> "TypeGuard[list[Task]]":
    """Whether all of these are tasks, and of this session: loops name thousands again and again."""
    return (
        all(issubclass(kind, Task) for kind in {*map(type, given)})
        and {*map(_session_of, given)} == {session}
        and all(map(_submission_of, given))
    )


def is_unfinished(obj: DataObject) -> bool:
    return obj.state is DataObjectState.unfinished


def expect_visible(tasks: Iterable[Task]) -> None:
    """RainException when a task reads what has disappeared inside of a unit."""
    for task in tasks:
        for obj in task.input_objects:
            if obj.unit is not None:
                raise obj.unit.disappeared(obj)


def asked_ids(
    tasks: Iterable[Task], objects: Iterable[DataObject]
) -> tuple[tuple[TaskId, ...], tuple[ObjectId, ...]]:
    """The ids to ask the server about: one for all that is inside a unit."""
    task_ids = [task.packed_id if task.unit is None else task.unit.task_id for task in tasks]
    object_ids: list[ObjectId] = []
    for obj in objects:
        if obj.unit is None:
            object_ids.append(obj.packed_id)
        else:
            task_ids.append(obj.unit.task_id)
    return tuple(dict.fromkeys(task_ids)), tuple(object_ids)


def is_among(item: Task | DataObject, ids: Container[int]) -> bool:
    """Whether an answer contains this item, or the unit that stands for it."""
    return item.packed_id in ids or (item.unit is not None and item.unit.task_id in ids)


_WITHOUT_RESULT = (base_states.TaskState.FAILED, base_states.TaskState.CANCELLED)


def has_failed(obj: DataObject) -> bool:
    return obj.state is DataObjectState.failed


def _note_task(task: Task, report: TaskReport) -> None:
    """Applies the report of a task or, if the task is inside of a unit, that of the unit. The notes
    of a unit's tasks come together, by their places.
    """
    state, info = TaskState(report.state.value), task_info(report)
    unit = task.unit
    if unit is not None:
        if state is TaskState.failed:
            state = unit.state_after(report.error, task.packed_id, TaskState.failed)
            if state is TaskState.finished:
                info.error = ""
        if info.user:
            info.user = info.user.get(str(unit.place(task.packed_id)), {})
    task.known_state, task.known_info = state, info


def note_reports(
    tasks: Iterable[Task],
    objects: Iterable[DataObject],
    task_reports: Iterable[TaskReport],
    object_reports: Iterable[ObjectReport],
) -> None:
    """The answer of the server about all ids that it was asked about."""
    by_task = {report.id: report for report in task_reports}
    by_object = {report.id: report for report in object_reports}
    for task in tasks:
        _note_task(task, by_task[task.packed_id if task.unit is None else task.unit.task_id])
    for obj in objects:
        if obj.unit is None:
            _note_object(obj, by_object[obj.packed_id])
        else:
            _note_hidden(obj, by_task[obj.unit.task_id])


def _note_object(obj: DataObject, report: ObjectReport) -> None:
    obj.known_state = DataObjectState(report.state.value)
    if obj.known_state is not DataObjectState.unfinished:
        obj.known_info = object_info(report)


def _note_hidden(obj: DataObject, report: TaskReport) -> None:
    """The answer of the server about the unit that an object is inside of."""
    if report.state in _WITHOUT_RESULT:
        obj.known_state = DataObjectState.failed
    elif report.state is base_states.TaskState.FINISHED:
        obj.known_state = finished_state(obj)


def mark_done(
    tasks: Iterable[Task],
    objects: Iterable[DataObject],
    failed: Container[int],
    cancelled: Container[int] = (),
) -> None:
    """Applies the answer of a wait in which some items have failed."""
    tasks = [task for task in tasks if task.known_state is not TaskState.finished]
    for task in tasks:
        if is_among(task, cancelled):
            task.known_state = TaskState.cancelled
        elif is_among(task, failed):
            task.known_state = TaskState.failed
    for obj in objects:
        if is_among(obj, failed):
            obj.known_state = DataObjectState.failed
    mark_finished(
        [task for task in tasks if task.known_state not in WITHOUT_RESULT],
        [obj for obj in objects if obj.known_state is not DataObjectState.failed],
    )


def mark_finished(tasks: Iterable[Task], objects: Iterable[DataObject]) -> None:
    """Applies the answer of a wait: these tasks and their outputs are finished."""
    done = list(objects)
    for task in tasks:
        task.known_state = TaskState.finished
        done += task.output_objects
    for obj in done:
        if obj.known_state is not DataObjectState.removed:
            obj.known_state = finished_state(obj)


def expect_object(value: object) -> None:
    """TypeError unless the value is a data object."""
    if not isinstance(value, DataObject):
        raise TypeError(f"{value!r} is not a data object")


def expect_fetchable(obj: DataObject) -> None:
    """RainException unless the data of the object can be asked for."""
    expect_object(obj)
    if not obj.kept:
        if obj.unit is not None:
            raise obj.unit.disappeared(obj)
        raise RainException(
            f"{obj!r} is not kept, so it cannot be fetched; call keep() before submit()"
        )
    if not obj.submission:
        raise RainException(f"{obj!r} was not submitted: call session.submit() first")


def not_computable(session: object, obj: DataObject) -> RainException:
    """Why an object cannot be computed that is of another session, or submitted and not kept."""
    if obj.session is not session:
        return RainException(f"{obj!r} belongs to another session")
    if obj.unit is not None:
        return obj.unit.disappeared(obj)
    return RainException(f"{obj!r} is already submitted and not kept; call keep() before submit()")
