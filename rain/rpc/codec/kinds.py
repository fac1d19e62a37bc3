"""Kinds and resources as messages."""

from collections.abc import Sequence

from rain.base.constraints import Constraints
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import entries, fields, read_numbers, write_numbers

_DATA_TYPES = (DataType.BLOB, DataType.DIRECTORY)  # in the order of the schema's numbers
_NO_CONSTRAINTS = Constraints()
_DATA_TYPE_NAMES = {DataType.BLOB: "blob", DataType.DIRECTORY: "directory"}

_AMOUNT_NAME, _AMOUNT = fields(schema.common.Resource, "name", "amount")
_OBJECT_ID, _LABEL, _CONTENT_TYPE, _DATA_TYPE, _OBJECT_USER, _SIZE_HINT = fields(
    schema.common.ObjectKind, "id", "label", "contentType", "dataType", "user", "sizeHint"
)
_ID, _TASK_TYPE, _NAME, _RESOURCES, _INPUT_LABELS, _OUTPUTS, _USER, _DURATION_HINT, _TRIES = fields(
    schema.common.TaskKind,
    "id",
    "taskType",
    "name",
    "resources",
    "inputLabels",
    "outputs",
    "user",
    "durationHint",
    "tries",
)
_PIN, _SPREAD, _APART = fields(schema.common.TaskKind, "pin", "spread", "apart")


def data_type_name(data_type: DataType) -> str:
    return _DATA_TYPE_NAMES[data_type]


def read_data_type(number: int) -> DataType:
    if number >= len(_DATA_TYPES):
        raise ValueError(f"there is no data type number {number}")
    return _DATA_TYPES[number]


def write_amounts(builder: Builder, field: str, amounts: Sequence[tuple[str, int]]) -> None:
    """Names and amounts into a list of resources."""
    rows = builder.init(field, len(amounts))
    for row, (name, amount) in zip(rows, amounts, strict=True):
        row.name = name
        row.amount = amount


def read_amounts(rows: Reader) -> tuple[tuple[str, int], ...]:
    return tuple(
        (row._get_by_field(_AMOUNT_NAME), row._get_by_field(_AMOUNT)) for row in entries(rows)
    )


def read_resources(rows: Reader) -> Resources:
    return Resources.of(dict(read_amounts(rows)))


def write_object_kinds(builder: Builder, field: str, kinds: Sequence[ObjectKind]) -> None:
    rows = builder.init(field, len(kinds))
    for row, kind in zip(rows, kinds, strict=True):
        row.id = kind.id
        row.label = kind.label
        row.contentType = kind.content_type
        row.dataType = data_type_name(kind.data_type)
        if kind.user:
            row.user = kind.user
        row.sizeHint = kind.size_hint


def read_object_kinds(rows: Reader) -> list[ObjectKind]:
    return [_read_object_kind(row) for row in entries(rows)]


def _read_object_kind(row: Reader) -> ObjectKind:
    get = row._get_by_field
    return ObjectKind(
        id=get(_OBJECT_ID),
        label=get(_LABEL),
        content_type=get(_CONTENT_TYPE),
        data_type=read_data_type(get(_DATA_TYPE).raw),
        user=get(_OBJECT_USER),
        size_hint=get(_SIZE_HINT),
    )


def write_task_kinds(builder: Builder, field: str, kinds: Sequence[TaskKind]) -> None:
    rows = builder.init(field, len(kinds))
    for row, kind in zip(rows, kinds, strict=True):
        row.id = kind.id
        row.taskType = kind.task_type
        row.name = kind.name
        write_amounts(row, "resources", tuple(kind.resources.items()))
        if kind.input_labels:
            row.inputLabels = kind.input_labels
        row.outputs = write_numbers(kind.outputs)
        if kind.user:
            row.user = kind.user
        row.durationHint = kind.duration_hint
        wishes = kind.constraints
        if wishes is not None:
            row.pin = wishes.pin
            row.spread = wishes.spread
            row.apart = wishes.apart
        row.tries = kind.tries


def read_task_kinds(rows: Reader) -> list[TaskKind]:
    return [_read_task_kind(row) for row in entries(rows)]


def _read_task_kind(row: Reader) -> TaskKind:
    get, has = row._get_by_field, row._has_by_field
    return TaskKind(
        id=get(_ID),
        task_type=get(_TASK_TYPE),
        name=get(_NAME),
        resources=read_resources(get(_RESOURCES)),
        input_labels=tuple(entries(get(_INPUT_LABELS))) if has(_INPUT_LABELS) else (),
        outputs=tuple(read_numbers(get(_OUTPUTS))),
        user=get(_USER),
        duration_hint=get(_DURATION_HINT),
        constraints=_read_constraints(row),
        tries=get(_TRIES),
    )


def _read_constraints(row: Reader) -> Constraints | None:
    get, has = row._get_by_field, row._has_by_field
    if not (has(_PIN) or has(_SPREAD) or has(_APART)):
        return None
    read = Constraints(tuple(get(_PIN)), get(_SPREAD), get(_APART))
    return None if read == _NO_CONSTRAINTS else read
