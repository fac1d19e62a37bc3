"""Makes handles of tasks and data objects whose parts the library has checked already.

Users make handles with the classes `Task` and `DataObject`, which check their arguments.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rain.base.ids import ObjectId
from rain.client.data import DataObject, filled, new_handle
from rain.client.explaining.stack import Stack
from rain.client.rpc.common import DataObjectState
from rain.client.shapes import ObjectShape, TaskShape
from rain.client.staging import Constant, digest_of
from rain.client.submission import Same
from rain.client.task import Task, fill_task
from rain.common.references import Reference
from rain.common.sameness import FUNCTION

if TYPE_CHECKING:
    from rain.client.session import Session

new_task = Task.__new__


def constant_object(
    session: "Session",
    shape: ObjectShape,
    data: Constant,
    found: Mapping[int, Reference] | None = None,
) -> DataObject:
    """The handle of data that the client has, and the futures that were found in that."""
    obj = filled(new_handle(DataObject), session, shape, data)
    if found:
        session.note_contents(obj.packed_id, found.values())
    if session.is_durable and shape.content_type != FUNCTION:  # compared by its code
        session.note_key(obj.packed_id, Same(digest_of(data), ()))
    session.add_object(obj)
    return obj


def submitted_object(
    session: "Session", packed_id: ObjectId, shape: ObjectShape, state: DataObjectState
) -> DataObject:
    """The handle of an object that another client has submitted and keeps."""
    obj = filled(new_handle(DataObject), session, shape)
    obj.packed_id = packed_id
    obj.submission = 1
    obj.kept = True
    obj.known_state = state
    return obj


def quick_task(
    session: "Session",
    shape: TaskShape,
    config: bytes,
    inputs: tuple[DataObject, ...],
    created_at: Stack,
) -> Task:
    """A task whose parts are in their final form; it is still to be added to its session."""
    task = new_task(Task)
    outputs: list[DataObject] = []
    for output in shape.outputs:
        outputs.append(filled(new_handle(DataObject), session, output))  # noqa: PERF401 # a comprehension is one more call for each task
    fill_task(task, session, shape, config, inputs, tuple(outputs), created_at)
    return task


def unit_task(last: Task, shape: TaskShape, config: bytes, inputs: tuple[DataObject, ...]) -> Task:
    """The task that is sent for a chain of tasks, with the id and the outputs of the last of them.

    It is no handle of anybody's, and belongs to no session.
    """
    task = new_task(Task)
    task.session = last.session
    task.packed_id = last.packed_id
    task.wire_shape = shape
    task.wire_config = config
    task.input_objects = inputs
    task.output_objects = last.output_objects
    task.given_spec = None
    return task
