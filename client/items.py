"""What the calls of a session need to know of the tasks and objects that they are given."""

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from rain.client.data import DataObject
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.task import Task
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.session import Session


def submitted_items(
    session: "Session", items: Iterable[Task | DataObject]
) -> tuple[list[Task], list[DataObject]]:
    """The tasks and the objects among the items, all of which were submitted to the session."""
    tasks: list[Task] = []
    objects: list[DataObject] = []
    for item in items:
        if isinstance(item, Task):
            tasks.append(item)
        elif isinstance(item, DataObject):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
            objects.append(item)
        else:
            raise TypeError(f"{item!r} is neither a task nor a data object")
        if item.session is not session:
            raise RainException(f"{item!r} belongs to another session")
        if not item.submission:
            raise RainException(f"{item!r} was not submitted")
    return tasks, objects


def is_unfinished(obj: DataObject) -> bool:
    return obj.state is DataObjectState.unfinished


def has_failed(obj: DataObject) -> bool:
    return obj.state is DataObjectState.failed


def mark_done(tasks: Iterable[Task], objects: Iterable[DataObject], failed: Container[int]) -> None:
    """Notes what a wait has told, where some of what is done has failed."""
    for task in tasks:
        if task.packed_id in failed:
            task.known_state = TaskState.failed
    for obj in objects:
        if obj.packed_id in failed:
            obj.known_state = DataObjectState.failed
    mark_finished(
        [task for task in tasks if task.known_state is not TaskState.failed],
        [obj for obj in objects if obj.known_state is not DataObjectState.failed],
    )


def mark_finished(tasks: Iterable[Task], objects: Iterable[DataObject]) -> None:
    """Notes what a wait has told: tasks are finished, and so is what they have made."""
    done = list(objects)
    for task in tasks:
        task.known_state = TaskState.finished
        done += task.output_objects
    for obj in done:
        if obj.known_state is not DataObjectState.removed:
            obj.known_state = DataObjectState.finished


def expect_object(value: object) -> None:
    """TypeError unless the value is a data object."""
    if not isinstance(value, DataObject):
        raise TypeError(f"{value!r} is not a data object")


def expect_fetchable(obj: DataObject) -> None:
    """RainException unless the data of the object can be asked for."""
    expect_object(obj)
    if not obj.kept:
        raise RainException(
            f"{obj!r} is not kept, so it cannot be fetched; call keep() before submit()"
        )
    if not obj.submission:
        raise RainException(f"{obj!r} was not submitted")


def not_computable(session: "Session", obj: DataObject) -> RainException:
    """Why an object cannot be computed that is of another session, or submitted and not kept."""
    if obj.session is not session:
        return RainException(f"{obj!r} belongs to another session")
    return RainException(f"{obj!r} is already submitted and not kept; call keep() before submit()")
