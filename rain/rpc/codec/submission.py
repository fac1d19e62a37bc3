"""A submission, or one part of it, as a message."""

from collections.abc import Sequence

from rain.base.ids import ObjectId, SessionId
from rain.base.wire import ConstantColumns, Submission, TaskColumns
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)


def write_submission(
    builder: Builder, submission: Submission, uploaded: Sequence[ObjectId] = ()
) -> None:
    """`uploaded` names the constants whose bytes went ahead; their data is empty here."""
    builder.session = submission.session
    if submission.task_kinds:
        write_task_kinds(builder, "taskKinds", submission.task_kinds)
    if submission.object_kinds:
        write_object_kinds(builder, "objectKinds", submission.object_kinds)
    if submission.tasks.ids:
        _write_tasks(builder.init("tasks"), submission.tasks)
    if submission.constants.ids:
        _write_constants(builder.init("constants"), submission.constants, uploaded)
    if submission.kept:
        builder.kept = submission.kept


def read_submission(reader: Reader) -> Submission:
    submission = Submission(SessionId(reader.session))
    if reader._has("taskKinds"):
        submission.task_kinds = read_task_kinds(reader.taskKinds)
    if reader._has("objectKinds"):
        submission.object_kinds = read_object_kinds(reader.objectKinds)
    if reader._has("tasks"):
        submission.tasks = _read_tasks(reader.tasks)
    if reader._has("constants"):
        submission.constants = _read_constants(reader.constants)
    if reader._has("kept"):
        submission.kept = list(reader.kept)
    submission.check()
    return submission


def read_uploaded(reader: Reader) -> list[ObjectId]:
    """The constants of a part whose bytes went ahead."""
    return list(reader.constants.uploaded) if reader._has("constants") else []


def _write_tasks(builder: Builder, tasks: TaskColumns) -> None:
    builder.ids = tasks.ids
    builder.kinds = tasks.kinds
    builder.configs = tasks.configs
    builder.inputCounts = tasks.input_counts
    builder.inputs = tasks.inputs
    builder.outputs = tasks.outputs


def _read_tasks(reader: Reader) -> TaskColumns:
    return TaskColumns(
        ids=list(reader.ids),
        kinds=list(reader.kinds),
        configs=list(reader.configs),
        input_counts=list(reader.inputCounts),
        inputs=list(reader.inputs),
        outputs=list(reader.outputs),
    )


def _write_constants(
    builder: Builder, constants: ConstantColumns, uploaded: Sequence[ObjectId]
) -> None:
    builder.ids = constants.ids
    builder.kinds = constants.kinds
    if uploaded:
        gone_ahead = frozenset(uploaded)
        builder.data = [
            b"" if object_id in gone_ahead else data
            for object_id, data in zip(constants.ids, constants.data, strict=True)
        ]
        builder.uploaded = list(uploaded)
    else:
        builder.data = constants.data


def _read_constants(reader: Reader) -> ConstantColumns:
    return ConstantColumns(ids=list(reader.ids), kinds=list(reader.kinds), data=list(reader.data))
