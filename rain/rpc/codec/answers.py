"""The codec of other answers to clients, of refusals, and of the report of a governor."""

from collections.abc import Iterable, Sequence

from rain.base.failures import SessionFailure
from rain.base.ids import FIRST_SHARED, LAST_SHARED, TaskId
from rain.base.states import TaskState
from rain.base.wire.answers import (
    DataLink,
    Fetched,
    GovernorReport,
    JoinedSession,
    ObjectReport,
    RunningTask,
    TaskMemory,
    TaskReport,
)
from rain.rpc.codec.amounts import read_amounts, write_amounts
from rain.rpc.codec.border import LOGS_LIMIT, clean, shown
from rain.rpc.codec.failures import ON_FAILURE, read_session_failure, write_session_failure
from rain.rpc.codec.record import choices, record
from rain.rpc.codec.requests import read_session_id
from rain.rpc.codec.runs import read_runs, write_runs
from rain.rpc.interface import Fields

REPORTS_LIMIT = 8 * 1024 * 1024
"""Characters of the reports in one message."""

OBJECT_REPORT = record(ObjectReport)
_LINK = record(DataLink)
_TASK_MEMORY = record(TaskMemory)
_TASK_STATE = choices(TaskState)


def write_refusal(reason: str | SessionFailure) -> Fields:
    if isinstance(reason, str):
        return {"refused": shown(reason)}
    return {"session": write_session_failure(reason)}


def read_refusal(fields: Fields) -> str | SessionFailure | None:
    """Why a call is refused; None when it is not."""
    if "session" in fields:
        return read_session_failure(fields["session"])
    reason: str | None = fields.get("refused")
    return reason


def write_joined(joined: JoinedSession) -> Fields:
    return {
        "session": joined.session,
        "name": joined.name,
        "onFailure": ON_FAILURE.write(joined.on_failure),
        "first": joined.first,
    }


def read_joined(results: Fields) -> JoinedSession:
    first: int = results["first"]
    if not (first == 0 or FIRST_SHARED <= first <= LAST_SHARED):
        raise ValueError(f"numbers from {first} on are not those of a client that has joined")
    return JoinedSession(
        read_session_id(results["session"]),
        results["name"],
        ON_FAILURE.read(results["onFailure"]),
        first,
    )


def write_fetched(fetched: Fetched) -> Fields:
    results: Fields = {
        "report": OBJECT_REPORT.write(fetched.report),
        "holder": fetched.holder,
    }
    if fetched.data is not None:
        results["inline"] = True
        results["data"] = fetched.data
    return results


def read_fetched(results: Fields) -> Fetched:
    data: bytes | None = results["data"] if results["inline"] else None
    return Fetched(OBJECT_REPORT.read(results["report"]), data, results["holder"])


def write_reports(reports: tuple[Sequence[TaskReport], Sequence[ObjectReport]]) -> Fields:
    """The first of them, as many as one message should hold; the client asks for the rest."""
    tasks, objects = reports
    task_rows, room = _fitting(map(write_task_report, tasks), REPORTS_LIMIT)
    object_rows: list[Fields] = []
    if len(task_rows) == len(tasks) and (room > 0 or not tasks):
        object_rows, _ = _fitting(map(OBJECT_REPORT.write, objects), room)
    return {"tasks": task_rows, "objects": object_rows}


def _fitting(rows: Iterable[Fields], room: int) -> tuple[list[Fields], int]:
    """Rows until there is no room for characters any more, at least one; and the room left."""
    fitting: list[Fields] = []
    for row in rows:
        fitting.append(row)
        room -= _characters(row)
        if room <= 0:
            break
    return fitting, room


def _characters(row: Fields) -> int:
    total = 0
    for value in row.values():
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, list):
            runs: list[Fields] = value
            total += sum(map(_characters, runs))
    return total


def read_reports(results: Fields) -> tuple[list[TaskReport], list[ObjectReport]]:
    return (
        [read_task_report(row) for row in results["tasks"]],
        [OBJECT_REPORT.read(row) for row in results["objects"]],
    )


def write_taken(objects: Sequence[ObjectReport]) -> Fields:
    return {"objects": [OBJECT_REPORT.write(report) for report in objects]}


def read_taken(results: Fields) -> list[ObjectReport]:
    return [OBJECT_REPORT.read(row) for row in results["objects"]]


def write_task_report(report: TaskReport) -> Fields:
    return {
        "id": report.id,
        "state": _TASK_STATE.write(report.state),
        "error": shown(report.error),
        "debug": shown(report.debug),
        "user": clean(report.user),
        "runs": write_runs(report.runs),
        "logs": shown(report.logs, LOGS_LIMIT),
        "cache": shown(report.cache),
        "secondRun": write_runs([] if report.second_run is None else [report.second_run]),
        "memory": _TASK_MEMORY.write(report.memory),
    }


def read_task_report(fields: Fields) -> TaskReport:
    return TaskReport(
        id=TaskId(fields["id"]),
        state=_TASK_STATE.read(fields["state"]),
        error=fields["error"],
        debug=fields["debug"],
        user=fields["user"],
        runs=read_runs(fields["runs"]),
        logs=fields["logs"],
        cache=fields["cache"],
        second_run=next(iter(read_runs(fields["secondRun"])), None),
        memory=_TASK_MEMORY.read(fields["memory"]),
    )


def write_running(running: RunningTask) -> Fields:
    return {"logs": running.printed, "memory": _TASK_MEMORY.write(running.memory)}


def read_running(results: Fields) -> RunningTask:
    return RunningTask(results["logs"], _TASK_MEMORY.read(results["memory"]))


def write_governor_report(report: GovernorReport) -> Fields:
    return {
        "address": report.address,
        "tasks": report.tasks,
        "objects": report.objects,
        "objectsToDelete": report.objects_to_delete,
        "resources": write_amounts(report.resources),
        "memory": write_amounts(report.memory),
        "running": write_amounts((clean(name), amount) for name, amount in report.running),
        "outOfReach": [
            {"address": clean(address), "why": clean(why)} for address, why in report.out_of_reach
        ],
        "links": [_LINK.write(link) for link in report.links],
    }


def read_governor_report(fields: Fields) -> GovernorReport:
    return GovernorReport(
        address=fields["address"],
        tasks=tuple(fields["tasks"]),
        objects=tuple(fields["objects"]),
        objects_to_delete=tuple(fields["objectsToDelete"]),
        resources=read_amounts(fields["resources"]),
        memory=read_amounts(fields["memory"]),
        running=read_amounts(fields["running"]),
        out_of_reach=tuple((way["address"], way["why"]) for way in fields["outOfReach"]),
        links=tuple([_LINK.read(row) for row in fields["links"]]),
    )


def write_governor_reports(reports: Sequence[GovernorReport]) -> Fields:
    return {"governors": [write_governor_report(report) for report in reports]}


def read_governor_reports(results: Fields) -> list[GovernorReport]:
    return [read_governor_report(row) for row in results["governors"]]
