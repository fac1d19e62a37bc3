"""A submission, or one part of it, as a message."""

from collections.abc import Sequence

from rain.base.ids import ObjectId
from rain.base.wire import ConstantColumns, Submission, TaskColumns
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import (
    entries,
    fields,
    read_counts,
    read_numbers,
    write_counts,
    write_numbers,
)
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)

_SESSION, _TASK_KINDS, _OBJECT_KINDS, _TASKS, _CONSTANTS, _KEPT = fields(
    schema.common.Submission, "session", "taskKinds", "objectKinds", "tasks", "constants", "kept"
)
_TASK_NUMBERS, _INPUT_COUNTS, _CONFIGS = fields(
    schema.common.TaskColumns, "numbers", "inputCounts", "configs"
)
_CONSTANT_NUMBERS, _DATA, _UPLOADED = fields(
    schema.common.ConstantColumns, "numbers", "data", "uploaded"
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
        _write_tasks(builder._init_by_field(_TASKS), submission.tasks)
    if submission.constants.ids:
        _write_constants(builder._init_by_field(_CONSTANTS), submission.constants, uploaded)
    if submission.kept:
        builder.kept = write_numbers(submission.kept)


def read_submission(reader: Reader) -> Submission:
    get, has = reader._get_by_field, reader._has_by_field
    submission = Submission(
        get(_SESSION),
        read_task_kinds(get(_TASK_KINDS)) if has(_TASK_KINDS) else [],
        read_object_kinds(get(_OBJECT_KINDS)) if has(_OBJECT_KINDS) else [],
        _read_tasks(get(_TASKS)) if has(_TASKS) else TaskColumns(),
        _read_constants(get(_CONSTANTS)) if has(_CONSTANTS) else ConstantColumns([], [], [], []),
        read_numbers(get(_KEPT)) if has(_KEPT) else [],
    )
    submission.check()
    return submission


def read_uploaded(reader: Reader) -> list[ObjectId]:
    """The constants of a part whose bytes went ahead."""
    if not reader._has_by_field(_CONSTANTS):
        return []
    return read_numbers(reader._get_by_field(_CONSTANTS)._get_by_field(_UPLOADED))


def _write_tasks(builder: Builder, tasks: TaskColumns) -> None:
    tasks.check()
    builder.numbers = write_numbers([*tasks.ids, *tasks.kinds, *tasks.inputs, *tasks.outputs])
    builder.inputCounts = write_counts(tasks.input_counts)
    builder.configs = tasks.configs


def _read_tasks(reader: Reader) -> TaskColumns:
    get = reader._get_by_field
    configs = entries(get(_CONFIGS))
    numbers = read_numbers(get(_TASK_NUMBERS))
    input_counts = read_counts(get(_INPUT_COUNTS))
    rows = len(configs)
    ids, kinds = numbers[:rows], numbers[rows : 2 * rows]
    end = 2 * rows + sum(input_counts)
    inputs, outputs = numbers[2 * rows : end], numbers[end:]
    return TaskColumns(ids, kinds, configs, input_counts, inputs, outputs)


def _write_constants(
    builder: Builder, constants: ConstantColumns, uploaded: Sequence[ObjectId]
) -> None:
    constants.check()
    builder.numbers = write_numbers([*constants.ids, *constants.kinds])
    if uploaded:
        gone_ahead = frozenset(uploaded)
        builder.data = [
            b"" if object_id in gone_ahead else data
            for object_id, data in zip(constants.ids, constants.data, strict=True)
        ]
        builder.uploaded = write_numbers(uploaded)
    else:
        builder.data = constants.data


def _read_constants(reader: Reader) -> ConstantColumns:
    get = reader._get_by_field
    data = entries(get(_DATA))
    numbers = read_numbers(get(_CONSTANT_NUMBERS))
    return ConstantColumns(numbers[: len(data)], numbers[len(data) :], data, [])
