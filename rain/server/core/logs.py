"""The printed output of tasks: the latest part, as long as the session is open."""

from __future__ import annotations

from rain.graph import Task
from rain.server.core.state import LOG_COST

LIMIT = 32 * 1024 * 1024
"""Characters that are kept for one session."""

LET_GO = (
    "[the output of this task is gone: its session has printed so much since then that the"
    " server has dropped older output]\n"
)


def keep(task: Task, text: str) -> None:
    """Keeps the output of a task that has ended."""
    session = task.session
    logs = session.logs
    before = logs.pop(task.id, None)
    if before is not None:
        session.logs_size -= len(before) + LOG_COST
    logs[task.id] = text
    session.logs_size += len(text) + LOG_COST
    if session.logs_size > LIMIT:
        session.logs_let_go = True
        for task_id, old in list(logs.items()):  # drop half at once, so that this is rare
            if session.logs_size <= LIMIT // 2 or task_id == task.id:
                break
            del logs[task_id]
            session.logs_size -= len(old) + LOG_COST


def hand_over(one: Task, other: Task) -> None:
    """Gives the output of one task, and the cache's sentence about it, to the other task."""
    session = one.session
    text = session.logs.pop(one.id, None)
    if text is not None:
        session.logs_size -= len(text) + LOG_COST
        keep(other, text)
    said = session.cached.pop(one.id, None)
    if said is not None:
        session.cached[other.id] = said


def logs_of(task: Task) -> str:
    """The output of the last run of a task."""
    session = task.session
    logs = session.logs.get(task.id)
    if logs is None:
        return LET_GO if session.logs_let_go and task.is_done else ""
    return logs
