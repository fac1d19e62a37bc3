"""Which resources ready tasks need, and how busy governors are: for programs that start governors.

It is computed between two turns, for a client that asks about once a second. Only assigned tasks
are examined one by one. Of the waiting tasks a sample is examined, and the result is scaled up.
"""

from __future__ import annotations

from math import ceil, log2

from rain.base.ids import KindId
from rain.base.resources import Resources
from rain.base.states import TaskRow
from rain.base.wire.demand import Demand, Load, Need
from rain.graph import DataObject, Governor, Session, Task, times
from rain.server.core.state import State

MOST_TASKS = 5_000
"""The size of the sample: this many tasks of a session, from the latest on."""

MOST_OBJECTS = 1_000
"""A governor with more objects than this is assumed to have the only copy of one."""

LONG = 60.0
"""Waiting tasks that take longer than this many seconds are counted separately, by doublings of
this time.
"""

_Alike = tuple[Resources, int]

_WAITS = (TaskRow.READY, TaskRow.QUEUED, TaskRow.PAUSED)


def gather_demand(state: State, seconds: float, now: float) -> Demand:
    """The demand now; a running task counts with `seconds` at most."""
    needs: dict[_Alike, Need] = {}
    governors = state.graph.governors.values()
    for governor in governors:
        for task in governor.assigned:
            _add(needs, _assigned(task, seconds, now))
    for session in state.graph.sessions.values():
        if session.unfinished:
            for need in _waiting(session):
                _add(needs, need)
    return Demand(
        tuple(need for need in needs.values() if need.waiting or need.running),
        tuple(map(_load, governors)),
    )


def _add(needs: dict[_Alike, Need], need: Need) -> None:
    alike = need.resources, ceil(log2(need.shortest / LONG)) if need.shortest else 0
    known = needs.get(alike)
    needs[alike] = need if known is None else known.joined(need)


def _assigned(task: Task, seconds: float, now: float) -> Need:
    """A task that a governor was told to run."""
    resources, expected = task.kind.resources, _expected(task.session, task)
    if task.row in {TaskRow.RUNNING, TaskRow.CANCELLING}:
        left = seconds if expected is None else max(0.0, expected - (now - task.started))
        return Need(resources, running=1, occupied=min(left, seconds))
    if task.row is TaskRow.ASSIGNED:
        return _waits(resources, 1, expected, times.expected(task))
    return Need(resources)  # it waits for others, or for what they make


def _waiting(session: Session) -> list[Need]:
    """Tasks that are not assigned, of one session.

    The latest come first: of a session that goes on, those that have finished are the earlier ones.
    """
    counts: dict[KindId, tuple[Task, int]] = {}
    unfinished = unseen = 0
    for looked, task in enumerate(reversed(session.tasks.values())):
        if looked == MOST_TASKS or unfinished == session.unfinished:
            unseen = session.unfinished - unfinished
            break
        if task.is_done:
            continue
        unfinished += 1
        if task.row in _WAITS:
            first, count = counts.get(task.kind.id, (task, 0))
            counts[task.kind.id] = first, count + 1
    share = 1 + unseen / unfinished if unfinished else 1
    return [
        _waits(
            task.kind.resources,
            round(count * share),
            _expected(session, task),
            times.expected_of(session, task.kind),
        )
        for task, count in counts.values()
    ]


def _waits(resources: Resources, count: int, expected: float | None, shortest: float) -> Need:
    if shortest <= LONG:
        shortest = 0.0
    if expected is None:
        return Need(resources, count, unknown=count, shortest=shortest)
    return Need(resources, count, expected * count, shortest=shortest)


def _expected(session: Session, task: Task) -> float | None:
    """The seconds of a task of this name, if anything is known of them."""
    if task.kind.duration_hint:
        return task.kind.duration_hint
    learned = session.learned.get(task.kind.id)
    if learned is None:
        return None
    return learned.mean_seconds if learned.finished else (learned.least or None)


def _load(governor: Governor) -> Load:
    return Load(
        governor.id,
        governor.offered,
        len(governor.assigned),
        governor.row,
        not governor.assigned and _has_sole_copies(governor),
    )


def _has_sole_copies(governor: Governor) -> bool:
    return len(governor.objects) > MOST_OBJECTS or any(
        _only_there(data_object, governor) for data_object in governor.objects
    )


def _only_there(data_object: DataObject, governor: Governor) -> bool:
    if not data_object.is_needed or data_object.is_at_server:
        return False
    others = (copy.governor for copy in data_object.copies if copy.is_held)
    return not any(one is not governor and not one.drains for one in others)
