"""Takes back tasks from governors with a time limit if they cannot end there in time.

The rule is `rain.graph.times.has_time`, and schedulers keep to it when they plan (`rules`). A task
that waits at a governor may run out of time meanwhile, so all waiting tasks are checked every
second. Tasks that have started go on: they may still end, and the governor drains before its time
is over.

Time is counted in whole seconds here, so the time that a governor has left depends only on the time
of the turn, and is the same when the turn is made again.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, inf

from rain.base.states import TaskRow
from rain.graph import Governor, Session, Task
from rain.graph.times import expected, expected_of
from rain.server.core import rests
from rain.server.core.state import State

_WAIT = (TaskRow.PLANNED, TaskRow.QUEUED, TaskRow.ASSIGNED)


def take_back(state: State) -> None:
    """Once per second: updates the time left of each governor, and takes back the tasks that need
    more.
    """
    second = floor(state.now)
    if second == state.limits_seen:
        return
    state.limits_seen = second
    longest = -1.0
    for governor in state.graph.ending:
        governor.left = max(governor.ends_at - second, 0.0)
        if governor.drains or not governor.scheduled or governor.is_behind:
            continue
        if longest < 0:
            longest = _longest(state.graph.sessions.values())
        if longest > governor.left:
            rests.take_back_some(state, _too_long(governor))


def next_look(state: State) -> float:
    """When the next one is due, if any of them has something to do."""
    works = any(governor.scheduled for governor in state.graph.ending)
    return floor(state.now) + 1.0 if works else inf


def may_take_back(state: State) -> bool:
    """Whether any task waits at a governor that ends at a fixed time."""
    return any(task.row in _WAIT for one in state.graph.ending for task in one.scheduled)


def _longest(sessions: Iterable[Session]) -> float:
    """The most seconds that a task of any kind is expected to take."""
    found = (
        expected_of(session, kind)
        for session in sessions
        if session.unfinished
        for kind in session.task_kinds.values()
    )
    return max(found, default=0.0)


def _too_long(governor: Governor) -> list[Task]:
    """The tasks that wait there in vain."""
    waiting = (task for task in governor.scheduled if task.row in _WAIT)
    return [task for task in waiting if expected(task) > governor.left]
