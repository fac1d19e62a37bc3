"""Outputs that are inputs, unchanged."""

from __future__ import annotations

from rain.base.errors import InvariantError
from rain.base.ids import ObjectId
from rain.governor.nodes import DataObject, Task
from rain.governor.results import Content, PassedOn


def input_of(task: Task, object_id: ObjectId) -> DataObject | None:
    """The input of the task that has this id."""
    for target in task.inputs:
        if target.id == object_id:
            return target
    return None


def passed_on(task: Task, output: PassedOn) -> tuple[DataObject, Content]:
    """The input that a task has passed on, and its content."""
    origin = input_of(task, output.object)
    if origin is None or origin.content is None:
        raise InvariantError(f"{task!r} passed on what is not here: {origin!r}")
    return origin, origin.content
