"""A submission, or one part of it, in the columns of a request."""

from collections.abc import Sequence

from rain.base.ids import ObjectId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire import ConstantColumns, Submission, TaskColumns, check_counts, outputs_of_nobody
from rain.rpc.codec.columns import Numbers, cut_bytes, cut_columns, no_lengths
from rain.rpc.codec.kinds import read_kinds
from rain.rpc.codec.plain import wrong_of_ours

_HEADS = 8
_WHAT = "a submission"


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


def read_submission(
    numbers: Numbers, first: int, content: bytes, start: int, end: int
) -> tuple[Submission, list[ObjectId], list[ObjectId]]:
    """The submission, the constants whose bytes went ahead, and what is wanted.

    Its numbers begin with the first one, its data lies between start and end.
    """
    if len(numbers) < first + _HEADS:
        raise no_lengths(_WHAT)
    session, wants, count, inputs, outputs, placed, ahead, kept = numbers[first : first + _HEADS]
    lengths = (
        *(wants, count, count, count, count, inputs, outputs),
        *(placed, placed, placed, ahead, kept),
    )
    left = len(numbers) - first - _HEADS - sum(lengths)  # about kinds
    columns = cut_columns(_WHAT, numbers, first + _HEADS, (*lengths, left))
    wanted, ids, kind_ids, _, input_counts, all_inputs, all_outputs = columns[:7]
    constant_ids, constant_kinds, _, uploaded, kept_ids, about_kinds = columns[7:]
    check_counts("submitted tasks: the input counts", input_counts, all_inputs)
    if outputs and not count:
        raise outputs_of_nobody("submitted tasks")
    lengths_of_data = columns[3] + columns[9] + about_kinds[1:]
    pieces = cut_bytes(_WHAT, content, start, end, lengths_of_data)
    kinds_from = count + placed
    task_kinds: list[TaskKind] = []
    object_kinds: list[ObjectKind] = []
    if about_kinds:
        task_kinds, object_kinds = read_kinds(_WHAT, about_kinds.tolist(), pieces[kinds_from:])
    submission = Submission(
        session,
        task_kinds,
        object_kinds,
        TaskColumns(ids, kind_ids, pieces[:count], input_counts, all_inputs, all_outputs),
        ConstantColumns(constant_ids, constant_kinds, pieces[count:kinds_from]),
        kept_ids,
    )
    return submission, uploaded.tolist(), wanted.tolist()
