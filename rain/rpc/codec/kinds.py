"""Kinds and resources as messages."""

from collections.abc import Sequence

from rain.base.constraints import Constraints
from rain.base.ids import KindId
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.rpc.codec.border import Builder, Reader

_DATA_TYPES = (DataType.BLOB, DataType.DIRECTORY)  # in the order of the schema's numbers
_NO_CONSTRAINTS = Constraints()
_DATA_TYPE_NAMES = {DataType.BLOB: "blob", DataType.DIRECTORY: "directory"}


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
    return tuple((row.name, row.amount) for row in rows)


def read_resources(rows: Reader) -> Resources:
    return Resources.of(dict(read_amounts(rows)))


def write_object_kinds(builder: Builder, field: str, kinds: Sequence[ObjectKind]) -> None:
    rows = builder.init(field, len(kinds))
    for row, kind in zip(rows, kinds, strict=True):
        row.id = kind.id
        row.label = kind.label
        row.contentType = kind.content_type
        row.dataType = data_type_name(kind.data_type)
        row.user = kind.user
        row.sizeHint = kind.size_hint


def read_object_kinds(rows: Reader) -> list[ObjectKind]:
    return [_read_object_kind(row) for row in rows]


def _read_object_kind(row: Reader) -> ObjectKind:
    return ObjectKind(
        id=KindId(row.id),
        label=row.label,
        content_type=row.contentType,
        data_type=read_data_type(row.dataType.raw),
        user=row.user,
        size_hint=row.sizeHint,
    )


def write_task_kinds(builder: Builder, field: str, kinds: Sequence[TaskKind]) -> None:
    rows = builder.init(field, len(kinds))
    for row, kind in zip(rows, kinds, strict=True):
        row.id = kind.id
        row.taskType = kind.task_type
        row.name = kind.name
        write_amounts(row, "resources", tuple(kind.resources.items()))
        row.inputLabels = kind.input_labels
        row.outputs = kind.outputs
        row.user = kind.user
        row.durationHint = kind.duration_hint
        wishes = kind.constraints
        if wishes is not None:
            row.pin = wishes.pin
            row.spread = wishes.spread
            row.apart = wishes.apart
        row.tries = kind.tries


def read_task_kinds(rows: Reader) -> list[TaskKind]:
    return [
        TaskKind(
            id=KindId(row.id),
            task_type=row.taskType,
            name=row.name,
            resources=read_resources(row.resources),
            input_labels=tuple(row.inputLabels),
            outputs=tuple(row.outputs),
            user=row.user,
            duration_hint=row.durationHint,
            constraints=_read_constraints(row),
            tries=row.tries,
        )
        for row in rows
    ]


def _read_constraints(row: Reader) -> Constraints | None:
    read = Constraints(tuple(row.pin), row.spread, row.apart)
    return None if read == _NO_CONSTRAINTS else read
