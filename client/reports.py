"""What the server reports, as users see it."""

import json
from collections.abc import Iterable
from typing import Any

from rain.base.failures import FailedAttempt
from rain.base.ids import unpack
from rain.base.wire import GovernorReport, ObjectReport, TaskReport
from rain.common.attributes import ObjectInfo, TaskInfo
from rain.common.ids import ID
from rain.common.tries import FailedTry


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
    return TaskInfo(
        report.error,
        report.start_time,
        report.duration,
        report.governor,
        _notes(report.user),
        report.debug,
        failed_tries(report.attempts),
    )


def failed_tries(attempts: Iterable[FailedAttempt]) -> list[FailedTry]:
    """The tries that have failed, as users see them."""
    return [
        FailedTry(failed.cause.value, failed.message, failed.governor, failed.debug)
        for failed in attempts
    ]


def governor_info(report: GovernorReport) -> dict[str, Any]:
    """What a governor has and holds, as users see it."""

    def ids(packed: Iterable[int]) -> list[ID]:
        return [unpack(packed_id) for packed_id in packed]

    return {
        "governor_id": report.address,
        "tasks": ids(report.tasks),
        "objects": ids(report.objects),
        "objects_to_delete": ids(report.objects_to_delete),
        "resources": dict(report.resources),
    }
