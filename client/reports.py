"""The public forms of the server's reports."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rain.base.ids import ObjectId, TaskId, unpack
from rain.base.runs import RunReport, RunState
from rain.base.wire.answers import GovernorReport, ObjectReport, TaskReport
from rain.base.wire.requests import ReportsOf
from rain.client.connection import Connection
from rain.common.attributes import ObjectInfo, TaskInfo
from rain.common.ids import ID
from rain.common.runs import RunInfo
from rain.common.signals import signal_name

ASKED_AT_ONCE = 10_000
"""Tasks and objects in one message."""


def ask_reports(
    connection: Connection, tasks: Sequence[TaskId], objects: Sequence[ObjectId]
) -> tuple[list[TaskReport], list[ObjectReport]]:
    """How these tasks and objects stand now. A message tells of as many as fit into it."""
    of_tasks: list[TaskReport] = []
    of_objects: list[ObjectReport] = []
    while len(of_tasks) < len(tasks) or len(of_objects) < len(objects):
        some_tasks = tasks[len(of_tasks) : len(of_tasks) + ASKED_AT_ONCE]
        some_objects = objects[len(of_objects) : len(of_objects) + ASKED_AT_ONCE]
        told = connection.ask(ReportsOf(tuple(some_tasks), tuple(some_objects)))
        of_tasks += told[0]
        of_objects += told[1]
    return of_tasks, of_objects


def _notes(user: str) -> dict[str, Any]:
    """The user's notes from their JSON."""
    return json.loads(user) if user else {}


def object_info(report: ObjectReport) -> ObjectInfo:
    """The info of an object as users see it."""
    return ObjectInfo(
        size=report.size, content_type=report.content_type or None, user=_notes(report.user)
    )


def task_info(report: TaskReport) -> TaskInfo:
    """The info of a task as users see it."""
    runs = runs_info(report.runs)
    last = runs[-1] if runs else None
    return TaskInfo(
        report.error,
        last.start_time if last else "",
        (last.duration or 0.0) if last else 0.0,
        last.governor if last else "",
        _notes(report.user),
        report.debug,
        runs,
        report.cache,
        None if report.second_run is None else runs_info([report.second_run])[0],
    )


def runs_info(runs: Iterable[RunReport]) -> list[RunInfo]:
    """The runs of a task as users see them."""
    return [
        RunInfo(
            run.number,
            run.governor,
            run.state.value,
            "" if run.cause is None else run.cause.value,
            run.message,
            run.debug,
            run.told_time,
            run.start_time,
            run.duration if run.start_time and run.state is not RunState.RUNNING else None,
            None if run.status is None or run.status < 0 else run.status,
            "" if run.status is None or run.status >= 0 else signal_name(-run.status),
            run.logs,
            run.retryable,
            run.peak,
        )
        for run in runs
    ]


def governor_info(report: GovernorReport) -> dict[str, Any]:
    """The resources and objects of a governor, as users see them."""

    def ids(packed: Iterable[int]) -> list[ID]:
        return [unpack(packed_id) for packed_id in packed]

    return {
        "governor_id": report.address,
        "tasks": ids(report.tasks),
        "objects": ids(report.objects),
        "objects_to_delete": ids(report.objects_to_delete),
        "resources": dict(report.resources),
        "memory": {**dict(report.memory), "running": dict(report.running)},
        "out_of_reach": dict(report.out_of_reach),
        "links": {
            link.host: {
                "bytes": link.bytes,
                "compressed": link.compressed,
                "sent": link.sent,
                "rate": link.rate,
            }
            for link in report.links
        },
    }
