"""Applies users' priorities: finds the waiting tasks of the same session that a task with a higher
priority overtakes.
"""

from __future__ import annotations

from collections.abc import Iterator

from rain.base.states import TaskRow
from rain.graph import Governor, Task

_WAITING = (TaskRow.QUEUED, TaskRow.ASSIGNED)


def overtaken(task: Task, governor: Governor) -> Iterator[Task]:
    """The tasks that wait there, and before which the task would go."""
    return (
        other
        for other in governor.scheduled
        if other.session is task.session
        and other.kind.priority < task.kind.priority
        and other.row in _WAITING
    )


def overtakes(task: Task, governor: Governor) -> bool:
    """Whether a task should be planned there now, however much waits there.

    It goes before something that waits, and no more of its priority wait than there are cpus.
    """
    if not task.session.has_priorities:
        return False
    waiting = [
        other.kind.priority < task.kind.priority
        for other in governor.scheduled
        if other.session is task.session and other.row in _WAITING
    ]
    return any(waiting) and waiting.count(False) < governor.cpus
