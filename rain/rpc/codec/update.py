"""What a governor tells the server, as a message."""

from collections.abc import Sequence

from rain.base.ids import ObjectId, TaskId
from rain.base.wire import FinishedTasks, Monitoring, ObjectNote, TaskFailure, TaskNote, Update
from rain.rpc import schema
from rain.rpc.codec.border import Builder, Reader, clean, shown
from rain.rpc.codec.columns import (
    entries,
    fields,
    read_counts,
    read_numbers,
    read_seconds,
    write_counts,
    write_numbers,
    write_seconds,
)
from rain.rpc.codec.failures import cause_number, read_cause
from rain.rpc.codec.plain import packed, unpacked

(
    _STARTED_IDS,
    _STARTED_ATTEMPTS,
    _FINISHED,
    _FAILED,
    _LOCATED,
    _UNFETCHED,
    _TASK_NOTES,
    _OBJECT_NOTES,
    _MONITORING,
) = fields(
    schema.common.Update,
    "startedIds",
    "startedAttempts",
    "finished",
    "failed",
    "located",
    "unfetched",
    "taskNotes",
    "objectNotes",
    "monitoring",
)
_NUMBERS, _COUNTS, _DURATIONS, _DATA = fields(
    schema.common.FinishedTasks, "numbers", "counts", "durations", "data"
)


def encode_update(update: Update) -> bytes:
    data = update.finished.data
    return packed(schema.common.Update, _write_update, update, len(data), data)


def decode_update(content: bytes) -> Update:
    return unpacked("an update", schema.common.Update, content, _read_update)


def _write_update(builder: Builder, update: Update) -> None:
    """Only columns that hold something are written: a heartbeat is empty."""
    if update.started_ids:
        builder.startedIds = write_numbers(update.started_ids)
        builder.startedAttempts = write_counts(update.started_attempts)
    if update.finished.ids:
        _write_finished(builder._init_by_field(_FINISHED), update.finished)
    if update.failed:
        _write_failed(builder, update.failed)
    if update.located:
        builder.located = write_numbers(update.located)
    if update.unfetched:
        builder.unfetched = write_numbers(update.unfetched)
    if update.task_notes:
        _write_task_notes(builder, update.task_notes)
    if update.object_notes:
        _write_object_notes(builder, update.object_notes)
    if update.monitoring:
        _write_monitoring(builder, update.monitoring)


def _read_update(reader: Reader) -> Update:
    get, has = reader._get_by_field, reader._has_by_field
    update = Update(
        read_numbers(get(_STARTED_IDS)) if has(_STARTED_IDS) else [],
        read_counts(get(_STARTED_ATTEMPTS)) if has(_STARTED_ATTEMPTS) else [],
        _read_finished(get(_FINISHED)) if has(_FINISHED) else FinishedTasks(),
        [_read_failure(row) for row in get(_FAILED)] if has(_FAILED) else [],
        read_numbers(get(_LOCATED)) if has(_LOCATED) else [],
        read_numbers(get(_UNFETCHED)) if has(_UNFETCHED) else [],
        [_read_task_note(row) for row in get(_TASK_NOTES)] if has(_TASK_NOTES) else [],
        [_read_object_note(row) for row in get(_OBJECT_NOTES)] if has(_OBJECT_NOTES) else [],
        [_read_sample(row) for row in get(_MONITORING)] if has(_MONITORING) else [],
    )
    update.check()
    return update


def _write_finished(builder: Builder, finished: FinishedTasks) -> None:
    finished.check()
    builder.numbers = write_numbers([*finished.ids, *finished.sizes])
    builder.counts = write_counts([*finished.attempts, *finished.output_counts])
    builder.durations = write_seconds(finished.durations)
    builder.data = finished.data


def _read_finished(reader: Reader) -> FinishedTasks:
    get = reader._get_by_field
    durations = read_seconds(get(_DURATIONS))
    numbers = read_numbers(get(_NUMBERS))
    counts = read_counts(get(_COUNTS))
    rows = len(durations)
    ids, sizes = numbers[:rows], numbers[rows:]
    attempts, output_counts = counts[:rows], counts[rows:]
    return FinishedTasks(ids, attempts, durations, output_counts, sizes, entries(get(_DATA)))


def _read_failure(row: Reader) -> TaskFailure:
    return TaskFailure(
        TaskId(row.task), row.attempt, row.message, row.debug, read_cause(row.cause.raw)
    )


def _read_task_note(row: Reader) -> TaskNote:
    return TaskNote(TaskId(row.task), row.user, row.debug)


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


def _write_object_notes(builder: Builder, notes: Sequence[ObjectNote]) -> None:
    rows = builder.init("objectNotes", len(notes))
    for row, note in zip(rows, notes, strict=True):
        row.object = note.object
        row.contentType = clean(note.content_type)
        row.user = clean(note.user)


def _write_monitoring(builder: Builder, samples: Sequence[Monitoring]) -> None:
    rows = builder.init("monitoring", len(samples))
    for row, sample in zip(rows, samples, strict=True):
        row.cpuUsage = sample.cpu_usage
        row.memUsage = sample.mem_usage
        row.interfaces = [clean(name) for name in sample.interfaces]
        row.received = sample.received
        row.sent = sample.sent
