"""A submission, or one part of it, in the columns of a request."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from rain.base.ids import ObjectId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire import ConstantColumns, Submission, TaskColumns, check_counts, outputs_of_nobody
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader
from rain.rpc.codec.columns import cut_bytes, cut_columns, fields, no_lengths
from rain.rpc.codec.kinds import (
    read_object_kinds,
    read_task_kinds,
    write_object_kinds,
    write_task_kinds,
)
from rain.rpc.codec.plain import wrong_of_ours

_TASK_KINDS, _OBJECT_KINDS = fields(schema.request.Request, "taskKinds", "objectKinds")
_HEADS = 8
_WHAT = "a submission"

Kinds: TypeAlias = tuple[list[TaskKind], list[ObjectKind]]


def submission_numbers(
    submission: Submission, uploaded: Sequence[ObjectId], wanted: Sequence[ObjectId]
) -> list[int]:
    """`uploaded` names the constants whose bytes went ahead."""
    tasks, constants, kept = submission.tasks, submission.constants, submission.kept
    count, inputs, outputs = len(tasks.ids), len(tasks.inputs), len(tasks.outputs)
    placed, ahead = len(constants.ids), len(uploaded)
    fit = (
        count == len(tasks.kinds) == len(tasks.configs) == len(tasks.input_counts)
        and sum(tasks.input_counts) == inputs
        and (count or not outputs)
        and placed == len(constants.kinds) == len(constants.data)
        and (placed or not ahead)
    )
    if not fit:
        raise wrong_of_ours(submission)
    numbers = [submission.session, len(wanted), count, inputs, outputs, placed, ahead, len(kept)]
    numbers += wanted
    if count:
        numbers += tasks.ids
        numbers += tasks.kinds
        numbers += map(len, tasks.configs)
        numbers += tasks.input_counts
        numbers += tasks.inputs
        numbers += tasks.outputs
    if placed:
        numbers += constants.ids
        numbers += constants.kinds
        numbers += map(len, data_of(constants, uploaded))
        numbers += uploaded
    numbers += kept
    return numbers


def data_of(constants: ConstantColumns, uploaded: Sequence[ObjectId]) -> list[bytes]:
    """What travels in the message itself."""
    if not uploaded:
        return constants.data
    gone_ahead = frozenset(uploaded)
    return [
        b"" if object_id in gone_ahead else data
        for object_id, data in zip(constants.ids, constants.data, strict=True)
    ]


def write_kinds(submission: Submission, builder: Builder) -> None:
    if submission.task_kinds:
        write_task_kinds(builder, "taskKinds", submission.task_kinds)
    if submission.object_kinds:
        write_object_kinds(builder, "objectKinds", submission.object_kinds)


def read_kinds(reader: Reader) -> Kinds:
    get, has = reader._get_by_field, reader._has_by_field
    return (
        read_task_kinds(get(_TASK_KINDS)) if has(_TASK_KINDS) else [],
        read_object_kinds(get(_OBJECT_KINDS)) if has(_OBJECT_KINDS) else [],
    )


def read_submission(
    numbers: list[Any], first: int, content: bytes, start: int, end: int, kinds: Kinds | None
) -> tuple[Submission, list[ObjectId], list[ObjectId]]:
    """The submission, the constants whose bytes went ahead, and what is wanted.

    Its numbers begin with the first one, its data lies between start and end.
    """
    if len(numbers) < first + _HEADS:
        raise no_lengths(_WHAT)
    task_kinds, object_kinds = kinds or ([], [])
    session, wants, count, inputs, outputs, placed, ahead, kept = numbers[first : first + _HEADS]
    lengths = (
        *(wants, count, count, count, count, inputs, outputs),
        *(placed, placed, placed, ahead, kept),
    )
    columns = cut_columns(_WHAT, numbers, first + _HEADS, lengths)
    wanted, ids, kind_ids, _, input_counts, all_inputs, all_outputs = columns[:7]
    constant_ids, constant_kinds, _, uploaded, kept_ids = columns[7:]
    check_counts("submitted tasks: the input counts", input_counts, all_inputs)
    if outputs and not count:
        raise outputs_of_nobody("submitted tasks")
    pieces = cut_bytes(_WHAT, content, start, end, columns[3] + columns[9])
    submission = Submission(
        session,
        task_kinds,
        object_kinds,
        TaskColumns(ids, kind_ids, pieces[:count], input_counts, all_inputs, all_outputs),
        ConstantColumns(constant_ids, constant_kinds, pieces[count:]),
        kept_ids,
    )
    return submission, uploaded, wanted
