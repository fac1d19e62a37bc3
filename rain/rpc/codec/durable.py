"""What clients are told of durable sessions."""

from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import DurableReport, DurableReports, DurableTask, TasksByName
from rain.base.wire.requests import DurableTasks, RemoveDurable, ShareDurable
from rain.rpc.codec.border import Fields, clean
from rain.rpc.codec.record import record

_REPORT = record(DurableReport)


def write_sessions(told: DurableReports) -> Fields:
    return {"sessions": [_REPORT.write(one) for one in told.reports]}


def read_sessions(fields: Fields) -> DurableReports:
    return DurableReports(tuple([_REPORT.read(row) for row in fields["sessions"]]))


def write_tasks_asked(asked: DurableTasks) -> Fields:
    return {"name": clean(asked.name), "first": asked.first}


def write_removed(asked: RemoveDurable) -> Fields:
    return {"name": clean(asked.name)}


def write_shared(asked: ShareDurable) -> Fields:
    return {"name": clean(asked.name), "users": [clean(user) for user in asked.users]}


def write_tasks(told: TasksByName) -> Fields:
    rows = [{"id": one.id, "name": clean(one.name), "objects": one.objects} for one in told.tasks]
    return {"tasks": rows, "total": told.total}


def read_tasks(fields: Fields) -> TasksByName:
    tasks = [
        DurableTask(TaskId(row["id"]), row["name"], tuple(map(ObjectId, row["objects"])))
        for row in fields["tasks"]
    ]
    return TasksByName(tuple(tasks), fields["total"])
