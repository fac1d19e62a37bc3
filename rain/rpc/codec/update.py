"""The codec of `Update`: what a governor reports to the server after each of its turns."""

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.transfers import Transfers
from rain.base.wire.update import (
    MOST_SECONDS,
    FinishedTasks,
    Monitoring,
    ObjectNote,
    TaskFailure,
    TaskNote,
    Update,
)
from rain.rpc.codec.border import LOGS_LIMIT, check_ours, clean, filled, shown, with_columns
from rain.rpc.codec.runs import read_cause, read_status, write_cause, write_status
from rain.rpc.interface import Fields


def write_update(update: Update) -> Fields:
    check_ours(update)
    fields: Fields = {"time": update.time} if update.time else {}
    fields |= {"drains": True} if update.drains else {}
    fields |= {"holdsBack": shown(update.holds_back)} if update.holds_back else {}
    fields |= {"isFull": True} if update.is_full else {}
    if update.started_ids:
        fields["startedTasks"] = update.started_ids
        fields["startedRuns"] = update.started_runs
        fields["startedTimes"] = update.started_times
    if update.finished.ids:
        fields["finished"] = _write_finished(update.finished)
    if update.failed:
        fields["failed"] = [_write_failure(failure) for failure in update.failed]
    if update.located:
        fields["located"] = update.located
    if update.unfetched:
        fields["unfetched"] = update.unfetched
    if update.task_notes:
        fields["taskNotes"] = [_write_task_note(note) for note in update.task_notes]
    if update.object_notes:
        fields["objectNotes"] = [_write_object_note(note) for note in update.object_notes]
    if update.monitoring:
        fields["monitoring"] = [_write_sample(sample) for sample in update.monitoring]
    if update.blocked_ids or update.resumed_ids:
        fields["waits"] = {
            "blockedTasks": update.blocked_ids,
            "blockedRuns": update.blocked_runs,
            "resumedTasks": update.resumed_ids,
            "resumedRuns": update.resumed_runs,
        }
    fields |= _write_runs("ended", update.ended_ids, update.ended_runs)
    fields |= _write_runs("returned", update.returned_ids, update.returned_runs)
    if update.number or update.heard:
        fields |= {"number": update.number, "heard": update.heard}
    return fields


def _write_runs(name: str, tasks: list[TaskId], runs: list[int]) -> Fields:
    return {name: {"tasks": tasks, "runs": runs}} if tasks else {}


def read_update(fields: Fields) -> Update:
    update = Update(
        fields["startedTasks"],
        fields["startedRuns"],
        failed=[*map(_read_failure, fields["failed"])],
        located=fields["located"],
        unfetched=fields["unfetched"],
        task_notes=[*map(_read_task_note, fields["taskNotes"])],
        object_notes=[*map(_read_object_note, fields["objectNotes"])],
        monitoring=[*map(_read_sample, fields["monitoring"])],
        started_times=_read_times("started tasks", fields["startedTimes"]),
        time=_read_times("an update", [fields["time"]])[0],
        number=fields["number"],
        heard=fields["heard"],
        drains=fields["drains"],
        holds_back=fields["holdsBack"],
        is_full=fields["isFull"],
    )
    names = "finished", "waits", "ended", "returned"
    finished, waits, ended, returned = map(fields.get, names)
    if finished is not None:
        update.finished = _read_finished(finished)
    if waits is not None:
        update.blocked_ids, update.blocked_runs = waits["blockedTasks"], waits["blockedRuns"]
        update.resumed_ids, update.resumed_runs = waits["resumedTasks"], waits["resumedRuns"]
    if ended is not None:
        update.ended_ids, update.ended_runs = ended["tasks"], ended["runs"]
    if returned is not None:
        update.returned_ids, update.returned_runs = returned["tasks"], returned["runs"]
    update.check()
    return update


def _write_finished(finished: FinishedTasks) -> Fields:
    fields: Fields = {
        "ids": finished.ids,
        "runs": finished.runs,
        "durations": finished.durations,
        "outputCounts": finished.output_counts,
        "sizes": finished.sizes,
    }
    return with_columns(fields, data=finished.data, starts=finished.starts, peaks=finished.peaks)


def _read_finished(fields: Fields) -> FinishedTasks:
    durations, sizes = fields["durations"], fields["sizes"]
    # The sum tells if one of them is not a number, or infinite.
    if durations and not (min(durations) >= 0 and sum(durations) <= MOST_SECONDS):
        raise ProtocolError("finished tasks: what they took is no number of seconds")
    if sizes and min(sizes) < 0:
        raise ProtocolError("finished tasks: the size of an output is below zero")
    if fields["peaks"] and min(fields["peaks"]) < 0:
        raise ProtocolError("finished tasks: the memory of one is below zero")
    return FinishedTasks(
        fields["ids"],
        fields["runs"],
        durations,
        fields["outputCounts"],
        sizes,
        filled(fields["data"], len(sizes), b""),
        _read_times("finished tasks", fields["starts"]),
        fields["peaks"],
    )


def _read_times(what: str, times: list[float]) -> list[float]:
    """Times that are finite numbers: if one is not, the sum tells."""
    if times and not abs(sum(times)) <= MOST_SECONDS * len(times):
        raise ProtocolError(f"{what}: a time is no number of seconds")
    return times


def _write_failure(failure: TaskFailure) -> Fields:
    return {
        "task": failure.task,
        "run": failure.run,
        "message": shown(failure.message),
        "debug": shown(failure.debug),
        "cause": write_cause(failure.cause),
        "exception": failure.exception,
        **write_status(failure.status),
        "retryable": failure.retryable,
        "handedOn": failure.handed_on,
        "peak": failure.peak,
        "disk": failure.disk,
    }


def _read_failure(row: Fields) -> TaskFailure:
    cause = read_cause(row["cause"])
    if cause is None:
        raise ProtocolError("a run has failed without a cause")
    return TaskFailure(
        TaskId(row["task"]),
        row["run"],
        row["message"],
        row["debug"],
        cause,
        row["exception"],
        read_status(row),
        row["retryable"],
        tuple(row["handedOn"]),
        max(row["peak"], 0),
        max(row["disk"], 0),
    )


def _write_task_note(note: TaskNote) -> Fields:
    return {
        "task": note.task,
        "user": clean(note.user),
        "debug": shown(note.debug),
        "logs": shown(note.logs, LOGS_LIMIT),
        "cache": shown(note.cache),
    }


def _read_task_note(row: Fields) -> TaskNote:
    return TaskNote(TaskId(row["task"]), row["user"], row["debug"], row["logs"], row["cache"])


def _write_object_note(note: ObjectNote) -> Fields:
    return {
        "object": note.object,
        "contentType": clean(note.content_type),
        "user": clean(note.user),
        "contents": note.contents,
    }


def _read_object_note(row: Fields) -> ObjectNote:
    return ObjectNote(
        ObjectId(row["object"]), row["contentType"], row["user"], tuple(row["contents"])
    )


def _write_sample(sample: Monitoring) -> Fields:
    return {
        "cpuUsage": sample.cpu_usage,
        "memUsage": sample.mem_usage,
        "interfaces": [clean(name) for name in sample.interfaces],
        "received": sample.received,
        "sent": sample.sent,
        "taskMemory": sample.task_memory,
        "closedWays": [
            {"address": clean(address), "why": shown(why)} for address, why in sample.closed_ways
        ],
        "memoryBytes": sample.memory_bytes,
        "diskBytes": sample.disk_bytes,
        "sentData": sample.transfers.data,
        "sentPacked": sample.transfers.packed,
        "sentOnLinks": sample.transfers.on_links,
        "packing": sample.transfers.packing,
    }


def _read_sample(row: Fields) -> Monitoring:
    return Monitoring(
        tuple(row["cpuUsage"]),
        row["memUsage"],
        tuple(row["interfaces"]),
        tuple(row["received"]),
        tuple(row["sent"]),
        max(row["taskMemory"], 0),
        tuple((way["address"], way["why"]) for way in row["closedWays"]),
        max(row["memoryBytes"], 0),
        max(row["diskBytes"], 0),
        Transfers(
            max(row["sentData"], 0),
            max(row["sentPacked"], 0),
            max(row["sentOnLinks"], 0),
            max(row["packing"], 0),
        ),
    )
