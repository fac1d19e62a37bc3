"""What a governor tells the server, as a message."""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire import (
    FinishedTasks,
    Monitoring,
    ObjectNote,
    TaskFailure,
    TaskNote,
    Update,
    check_counts,
)
from rain.rpc import schema
from rain.rpc.codec.border import LOGS_LIMIT, Builder, Reader, clean, shown
from rain.rpc.codec.columns import (
    SECOND,
    cut_bytes,
    cut_columns,
    fields,
    no_lengths,
    read_seconds,
    write_numbers,
    write_seconds,
)
from rain.rpc.codec.failures import cause_number, read_cause
from rain.rpc.codec.plain import check_ours, opened, packed, wrong_of_ours
from rain.rpc.codec.words import write_words

_FAILED, _TASK_NOTES, _OBJECT_NOTES, _MONITORING = fields(
    schema.common.Update, "failed", "taskNotes", "objectNotes", "monitoring"
)
_HEADS = 5
_MOST_SECONDS = 1e12  # nobody could say when such a task has begun


Rest: TypeAlias = tuple[list[TaskFailure], list[TaskNote], list[ObjectNote], list[Monitoring]]


def encode_update(update: Update) -> bytes:
    finished, data = update.finished, update.finished.data
    located, unfetched = update.located, update.unfetched
    starts, ends, outputs = len(update.started_ids), len(finished.ids), len(finished.sizes)
    fit = (
        starts == len(update.started_attempts)
        and ends == len(finished.attempts) == len(finished.durations)
        and ends == len(finished.output_counts)
        and sum(finished.output_counts) == outputs == len(data)
    )
    if not fit:
        raise wrong_of_ours(update)
    numbers = [starts, ends, outputs, len(located), len(unfetched)]
    numbers += update.started_ids
    numbers += update.started_attempts
    if ends:
        numbers += finished.ids
        numbers += finished.attempts
        numbers += finished.output_counts
        numbers += finished.sizes
        numbers += map(len, data)
    numbers += located
    numbers += unfetched
    content = write_numbers(numbers)
    if ends:
        data = [write_seconds(finished.durations), *data]
    if update.failed or update.task_notes or update.object_notes or update.monitoring:
        write = partial(_write_rest, update)
        return packed(schema.common.Update, content, data, write)
    return write_words(content, data)


def decode_update(content: bytes) -> Update:
    raw, data, start, end, rest = opened("an update", schema.common.Update, content, _read_rest)
    numbers = raw.tolist()
    if len(numbers) < _HEADS:
        raise no_lengths("an update")
    starts, ends, outputs, located, unfetched = numbers[:_HEADS]
    lengths = (starts, starts, ends, ends, ends, outputs, outputs, located, unfetched)
    columns = cut_columns("an update", numbers, _HEADS, lengths)
    pieces = cut_bytes("an update", data, start, end, [ends * SECOND, *columns[6]])
    update = Update(
        columns[0],
        columns[1],
        _finished(columns, pieces) if ends or outputs else FinishedTasks(),
        [],
        columns[7],
        columns[8],
    )
    if rest is not None:
        update.failed, update.task_notes, update.object_notes, update.monitoring = rest
        for sample in update.monitoring:
            sample.check()
    return update


def _finished(columns: list[list[Any]], data: list[bytes]) -> FinishedTasks:
    _, _, ids, attempts, output_counts, sizes, *_ = columns
    check_counts("finished tasks: the output counts", output_counts, sizes)
    durations = read_seconds(data[0])
    # What is no number, or endless, would be found in the sum.
    if durations and not (min(durations) >= 0 and sum(durations) <= _MOST_SECONDS):
        raise ProtocolError("finished tasks: what they took is no number of seconds")
    if sizes and min(sizes) < 0:
        raise ProtocolError("finished tasks: the size of an output is below zero")
    return FinishedTasks(ids, attempts, durations, output_counts, sizes, data[1:])


def _write_rest(update: Update, builder: Builder) -> None:
    if update.failed:
        _write_failed(builder, update.failed)
    if update.task_notes:
        _write_task_notes(builder, update.task_notes)
    if update.object_notes:
        _write_object_notes(builder, update.object_notes)
    if update.monitoring:
        _write_monitoring(builder, update.monitoring)


def _read_rest(reader: Reader) -> Rest:
    get, has = reader._get_by_field, reader._has_by_field
    return (
        [_read_failure(row) for row in get(_FAILED)] if has(_FAILED) else [],
        [_read_task_note(row) for row in get(_TASK_NOTES)] if has(_TASK_NOTES) else [],
        [_read_object_note(row) for row in get(_OBJECT_NOTES)] if has(_OBJECT_NOTES) else [],
        [_read_sample(row) for row in get(_MONITORING)] if has(_MONITORING) else [],
    )


def _read_failure(row: Reader) -> TaskFailure:
    return TaskFailure(
        TaskId(row.task), row.attempt, row.message, row.debug, read_cause(row.cause.raw)
    )


def _read_task_note(row: Reader) -> TaskNote:
    return TaskNote(TaskId(row.task), row.user, row.debug, row.logs)


def _read_object_note(row: Reader) -> ObjectNote:
    return ObjectNote(ObjectId(row.object), row.contentType, row.user)


def _read_sample(row: Reader) -> Monitoring:
    return Monitoring(
        tuple(row.cpuUsage),
        row.memUsage,
        tuple(row.interfaces),
        tuple(row.received),
        tuple(row.sent),
    )


def _write_failed(builder: Builder, failed: Sequence[TaskFailure]) -> None:
    rows = builder.init("failed", len(failed))
    for row, failure in zip(rows, failed, strict=True):
        row.task = failure.task
        row.attempt = failure.attempt
        row.message = shown(failure.message)
        row.debug = shown(failure.debug)
        row.cause = cause_number(failure.cause)


def _write_task_notes(builder: Builder, notes: Sequence[TaskNote]) -> None:
    rows = builder.init("taskNotes", len(notes))
    for row, note in zip(rows, notes, strict=True):
        row.task = note.task
        row.user = clean(note.user)
        row.debug = shown(note.debug)
        row.logs = shown(note.logs, LOGS_LIMIT)


def _write_object_notes(builder: Builder, notes: Sequence[ObjectNote]) -> None:
    rows = builder.init("objectNotes", len(notes))
    for row, note in zip(rows, notes, strict=True):
        row.object = note.object
        row.contentType = clean(note.content_type)
        row.user = clean(note.user)


def _write_monitoring(builder: Builder, samples: Sequence[Monitoring]) -> None:
    rows = builder.init("monitoring", len(samples))
    for row, sample in zip(rows, samples, strict=True):
        check_ours(sample)
        row.cpuUsage = sample.cpu_usage
        row.memUsage = sample.mem_usage
        row.interfaces = [clean(name) for name in sample.interfaces]
        row.received = sample.received
        row.sent = sample.sent
