"""What a governor tells the server, as a message."""

from collections.abc import Sequence

from rain.base.ids import ObjectId, TaskId
from rain.base.wire import FinishedTasks, Monitoring, ObjectNote, TaskFailure, TaskNote, Update
from rain.rpc.codec.border import Builder, Reader, clean, shown
from rain.rpc.codec.failures import cause_number, read_cause


def write_update(builder: Builder, update: Update) -> None:
    """Only columns that hold something are written: a heartbeat is empty."""
    if update.started_ids:
        builder.startedIds = update.started_ids
        builder.startedAttempts = update.started_attempts
    if update.finished.ids:
        _write_finished(builder.init("finished"), update.finished)
    if update.failed:
        _write_failed(builder, update.failed)
    if update.located:
        builder.located = update.located
    if update.unfetched:
        builder.unfetched = update.unfetched
    if update.task_notes:
        _write_task_notes(builder, update.task_notes)
    if update.object_notes:
        _write_object_notes(builder, update.object_notes)
    if update.monitoring:
        _write_monitoring(builder, update.monitoring)


def read_update(reader: Reader) -> Update:
    update = Update()
    if reader._has("startedIds") or reader._has("startedAttempts"):
        update.started_ids = list(reader.startedIds)
        update.started_attempts = list(reader.startedAttempts)
    if reader._has("finished"):
        update.finished = _read_finished(reader.finished)
    if reader._has("failed"):
        update.failed = [
            TaskFailure(
                TaskId(row.task), row.attempt, row.message, row.debug, read_cause(row.cause.raw)
            )
            for row in reader.failed
        ]
    if reader._has("located"):
        update.located = list(reader.located)
    if reader._has("unfetched"):
        update.unfetched = list(reader.unfetched)
    if reader._has("taskNotes"):
        update.task_notes = [
            TaskNote(TaskId(row.task), row.user, row.debug) for row in reader.taskNotes
        ]
    if reader._has("objectNotes"):
        update.object_notes = [
            ObjectNote(ObjectId(row.object), row.contentType, row.user)
            for row in reader.objectNotes
        ]
    if reader._has("monitoring"):
        update.monitoring = [
            Monitoring(
                tuple(row.cpuUsage),
                row.memUsage,
                tuple(row.interfaces),
                tuple(row.received),
                tuple(row.sent),
            )
            for row in reader.monitoring
        ]
    update.check()
    return update


def _write_finished(builder: Builder, finished: FinishedTasks) -> None:
    builder.ids = finished.ids
    builder.attempts = finished.attempts
    builder.durations = finished.durations
    builder.outputCounts = finished.output_counts
    builder.sizes = finished.sizes
    builder.data = finished.data


def _read_finished(reader: Reader) -> FinishedTasks:
    return FinishedTasks(
        ids=list(reader.ids),
        attempts=list(reader.attempts),
        durations=list(reader.durations),
        output_counts=list(reader.outputCounts),
        sizes=list(reader.sizes),
        data=list(reader.data),
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
