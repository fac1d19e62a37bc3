"""What the server answers the calls of a client, and a governor's report, as messages."""

from collections.abc import Sequence

from attrs import evolve

from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.kinds import DataType
from rain.base.states import ObjectState, TaskState
from rain.base.wire import GovernorReport, ObjectReport, TaskReport
from rain.rpc.codec.amounts import read_amounts, write_amounts
from rain.rpc.codec.border import LOGS_LIMIT, Builder, Reader, clean, shown
from rain.rpc.codec.failures import read_attempts, write_attempts

_NO_TASK = -1  # session failures that no task is to blame for
_DATA_TYPES = (DataType.BLOB, DataType.DIRECTORY)  # in the order of the schema's numbers
_DATA_TYPE_NAMES = {DataType.BLOB: "blob", DataType.DIRECTORY: "directory"}


def write_session_failure(builder: Builder, failure: SessionFailure) -> None:
    builder.message = shown(failure.message)
    builder.debug = shown(failure.debug)
    builder.task = _NO_TASK if failure.task is None else failure.task
    if failure.attempts:
        write_attempts(builder, "attempts", failure.attempts)
    builder.governor = failure.governor
    builder.startTime = failure.start_time
    builder.duration = failure.duration


def read_session_failure(reader: Reader) -> SessionFailure:
    task = reader.task
    return SessionFailure(
        reader.message,
        reader.debug,
        None if task == _NO_TASK else TaskId(task),
        read_attempts(reader.attempts),
        reader.governor,
        reader.startTime,
        reader.duration,
    )


def write_refusal(builder: Builder, reason: str | SessionFailure) -> None:
    if isinstance(reason, str):
        builder.refused = shown(reason)
    else:
        write_session_failure(builder.init("session"), reason)


def read_refusal(reader: Reader) -> str | SessionFailure:
    if reader._which_str() == "session":
        return read_session_failure(reader.session)
    text: str = reader.refused
    return text


def write_task_report(builder: Builder, report: TaskReport) -> None:
    builder.id = report.id
    builder.state = report.state.value
    builder.governor = report.governor
    builder.startTime = report.start_time
    builder.duration = report.duration
    builder.error = shown(report.error)
    builder.debug = shown(report.debug)
    builder.user = clean(report.user)
    builder.logs = shown(report.logs, LOGS_LIMIT)
    if report.attempts:
        write_attempts(builder, "attempts", report.attempts)


def read_task_report(reader: Reader) -> TaskReport:
    return TaskReport(
        id=TaskId(reader.id),
        state=TaskState(reader.state.raw),
        governor=reader.governor,
        start_time=reader.startTime,
        duration=reader.duration,
        error=reader.error,
        debug=reader.debug,
        user=reader.user,
        attempts=read_attempts(reader.attempts),
        logs=reader.logs,
    )


def write_task_reports(builder: Builder, field: str, reports: Sequence[TaskReport]) -> None:
    rows = builder.init(field, len(reports))
    for row, report in zip(rows, reports, strict=True):
        write_task_report(row, report)


def read_task_reports(rows: Reader) -> list[TaskReport]:
    return [read_task_report(row) for row in rows]


def write_object_report(builder: Builder, report: ObjectReport) -> None:
    builder.id = report.id
    builder.state = report.state.value
    builder.size = report.size
    builder.contentType = clean(report.content_type)
    builder.user = clean(report.user)


def read_object_report(reader: Reader) -> ObjectReport:
    return ObjectReport(
        id=ObjectId(reader.id),
        state=ObjectState(reader.state.raw),
        size=reader.size,
        content_type=reader.contentType,
        user=reader.user,
    )


def write_described_objects(builder: Builder, reports: Sequence[ObjectReport]) -> None:
    """Reports, and beside them what the objects were asked to be: a fetch goes without."""
    rows = builder.init("objects", len(reports))
    described = builder.init("described", len(reports))
    for row, kind, report in zip(rows, described, reports, strict=True):
        write_object_report(row, report)
        kind.label = report.label
        kind.contentType = report.declared_type
        kind.dataType = _DATA_TYPE_NAMES[report.data_type]


def read_described_objects(rows: Reader, described: Reader) -> list[ObjectReport]:
    return [
        evolve(
            read_object_report(row),
            label=kind.label,
            declared_type=kind.contentType,
            data_type=_read_data_type(kind.dataType.raw),
        )
        for row, kind in zip(rows, described, strict=True)
    ]


def _read_data_type(number: int) -> DataType:
    if number >= len(_DATA_TYPES):
        raise ValueError(f"there is no data type number {number}")
    return _DATA_TYPES[number]


def write_governor_report(builder: Builder, report: GovernorReport) -> None:
    builder.address = report.address
    builder.tasks = report.tasks
    builder.objects = report.objects
    builder.objectsToDelete = report.objects_to_delete
    write_amounts(builder, "resources", report.resources)


def read_governor_report(reader: Reader) -> GovernorReport:
    return GovernorReport(
        address=reader.address,
        tasks=tuple(reader.tasks),
        objects=tuple(reader.objects),
        objects_to_delete=tuple(reader.objectsToDelete),
        resources=read_amounts(reader.resources),
    )


def write_governor_reports(builder: Builder, field: str, reports: Sequence[GovernorReport]) -> None:
    rows = builder.init(field, len(reports))
    for row, report in zip(rows, reports, strict=True):
        write_governor_report(row, report)


def read_governor_reports(rows: Reader) -> list[GovernorReport]:
    return [read_governor_report(row) for row in rows]
