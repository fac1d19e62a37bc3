"""Priorities: which of a session's ready tasks take the best of its ranks.

A rank compares the tasks of all sessions, as the scheduler wants it. The priority that a user gives
(`TaskKind.priority`) decides within the user's session only: its ready tasks share out the ranks
that they have brought, those of the largest priority first. So nobody gets more than a share of the
governor by larger numbers.
"""

from __future__ import annotations

from rain.governor.nodes import Session, Task
from rain.governor.tables import TaskRow


def put_in_order(session: Session) -> None:
    """Shares out the ranks of the session's ready tasks, if any has become ready since."""
    if not session.unordered:
        return
    session.unordered = False
    ready = [task for task in session.tasks.values() if task.row is TaskRow.READY]
    ranks = sorted(task.rank for task in ready)
    ready.sort(key=_turn)
    moved: dict[int, Task] = {}
    for task, rank in zip(ready, ranks, strict=True):
        if task.rank != rank:
            task.rank = rank
            moved[id(task.kind.group)] = task
    for task in moved.values():
        task.kind.group.sort()


def _turn(task: Task) -> tuple[int, tuple[int, int, int]]:
    return -task.kind.kind.priority, task.rank
