"""What tasks have printed: kept as long as their session is open, of very much the latest part."""

from __future__ import annotations

from rain.graph import Task
from rain.server.state import LOG_COST

LIMIT = 32 * 1024 * 1024
"""Letters that are kept for one session."""

LET_GO = (
    "[nothing is known of what this task has printed: its session has printed so much since"
    " then that the server has let the older part go]\n"
)


def keep(task: Task, text: str) -> None:
    """A task has ended and has printed this."""
    session = task.session
    logs = session.logs
    before = logs.pop(task.id, None)
    if before is not None:
        session.logs_size -= len(before) + LOG_COST
    logs[task.id] = text
    session.logs_size += len(text) + LOG_COST
    if session.logs_size > LIMIT:
        session.logs_let_go = True
        for task_id, old in list(logs.items()):  # half of it at once, so that this is seldom
            if session.logs_size <= LIMIT // 2 or task_id == task.id:
                break
            del logs[task_id]
            session.logs_size -= len(old) + LOG_COST


def logs_of(task: Task) -> str:
    """What it has printed when it ran last."""
    session = task.session
    logs = session.logs.get(task.id)
    if logs is None:
        return LET_GO if session.logs_let_go and task.is_done else ""
    return logs
