"""Estimates how long a task runs, and whether it ends before its governor must be gone.

A governor may have an end: the end of its job, or one that its user has set. A task of unknown
length may start anywhere.
"""

from __future__ import annotations

from math import inf

from rain.base.kinds import TaskKind
from rain.base.runs import RunCause, RunState
from rain.graph.governor import Governor
from rain.graph.session import Session
from rain.graph.task import Task


def expected_of(session: Session, kind: TaskKind) -> float:
    """Seconds that a task of this kind is expected to take; 0 if nothing is known.

    What is declared counts first, then the mean of tasks of its name, then its time limit. It never
    takes longer than the latter.
    """
    limit, seconds = kind.attempts.timeout, kind.duration_hint
    if not seconds:
        learned = session.learned.get(kind.id)
        seconds = (None if learned is None else learned.mean_seconds) or limit
    return min(seconds, limit) if limit else seconds


def expected(task: Task) -> float:
    """Seconds that a task is expected to take: no less than it has run on a lost governor."""
    seconds = expected_of(task.session, task.kind)
    return seconds if task.run is None else max(seconds, _lost_after(task))


def has_time(task: Task, governor: Governor) -> bool:
    """Whether a task is expected to end before the governor does, if it begins there now."""
    return governor.left == inf or expected(task) <= governor.left


def _lost_after(task: Task) -> float:
    """The longest that a run of it had lasted when its governor was gone."""
    lost = (
        run.duration
        for run in task.runs
        if run.state is RunState.LOST and run.cause is RunCause.GOVERNOR
    )
    return max(lost, default=0.0)
