"""The printed output of tasks: kept while the session is open, at most the latest part."""

from __future__ import annotations

from rain.graph import Task
from rain.server.state import LOG_COST

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


def logs_of(task: Task) -> str:
    """The output of the last run of a task."""
    session = task.session
    logs = session.logs.get(task.id)
    if logs is None:
        return LET_GO if session.logs_let_go and task.is_done else ""
    return logs
