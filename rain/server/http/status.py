"""The status of the server, in numbers that are always available: nothing here iterates over tasks
or objects.
"""

from __future__ import annotations

from math import inf
from typing import TypedDict

import rain
from rain.base.governors import GovernorRow
from rain.graph import Governor, Session
from rain.server.core import hold_ups
from rain.server.core.state import SchedulerStatus, State


class GovernorStatus(TypedDict):
    """One governor."""

    governor: str
    resources: dict[str, int]
    task_memory: int  # bytes that its tasks had when it last said so
    assigned: int  # tasks assigned to it
    queued: int  # ready tasks that wait for it
    objects: int
    heard: float  # seconds since its last message
    state: str  # works, rests or drains
    rests: float  # seconds for which it gets no tasks
    rests_why: str
    holds_back: str  # why tasks that it was told wait there
    closed_ways: dict[str, str]  # governors that it cannot connect to, and why
    sent_data: int  # bytes that it has sent to other machines, in bodies from 256 KiB on,
    sent_compressed: int  # those of them that were compressed,
    sent_on_links: int  # and the bytes for all of that on the links
    away: float  # seconds for which it has had no connection, though it may come back
    away_why: str
    time_left: float | None  # seconds until it must be gone, if it must


class SessionStatus(TypedDict):
    """One open session."""

    session: int
    name: str
    client: str
    durable: bool  # it has opened a durable session, or its client had
    tasks: int
    unfinished: int
    second_runs: int  # of late tasks, so far
    objects: int
    failure: str
    held_up: str  # why a task that could run does not, if people can mend that
    user: str  # whose it is; "" is the owner of the cluster


class SchedulerReport(TypedDict):
    """The scheduler and its statistics."""

    name: str
    runs: int
    seconds: float  # of all runs
    faults: int  # failed runs, for which `rain` planned instead
    last_fault: str
    rests: float  # seconds until it runs again after an interruption; else 0


class Status(TypedDict):
    """The server."""

    version: str
    time: float
    clients: int
    tasks: int
    objects: int
    scheduler: SchedulerReport
    governors: list[GovernorStatus]
    sessions: list[SessionStatus]


def gather_status(state: State, now: float) -> Status:
    """Gathers the status between two turns."""
    graph = state.graph
    return Status(
        version=rain.__version__,
        time=now,
        clients=len(graph.clients),
        tasks=sum(one.submitted for one in graph.sessions.values()),
        objects=sum(len(one.objects) + one.gone_objects for one in graph.sessions.values()),
        scheduler=_scheduler(state.status, now),
        governors=[_governor(state, governor, now) for governor in graph.governors.values()],
        sessions=[_session(state, session, now) for session in graph.sessions.values()],
    )


def _scheduler(status: SchedulerStatus, now: float) -> SchedulerReport:
    return SchedulerReport(
        name=status.name,
        runs=status.runs,
        seconds=round(status.seconds, 3),
        faults=status.faults,
        last_fault=status.fault,
        rests=round(max(status.rests_until - now, 0.0), 3),
    )


def _governor(state: State, governor: Governor, now: float) -> GovernorStatus:
    rest = state.back_off.last[governor] if governor.row is GovernorRow.RESTS else None
    away = governor.away
    return GovernorStatus(
        governor=governor.address,
        resources=governor.offered.as_dict(),
        task_memory=governor.task_memory,
        assigned=len(governor.assigned),
        queued=len(governor.queue),
        objects=len(governor.objects),
        heard=round(max(now - governor.heard, 0.0), 3),
        state=governor.row.value,
        rests=0.0 if rest is None else round(max(rest.until - now, 0.0), 3),
        rests_why="" if rest is None else rest.why,
        holds_back=governor.holds_back,
        closed_ways=dict(governor.closed_ways),
        sent_data=governor.transfers.data,
        sent_compressed=governor.transfers.packed,
        sent_on_links=governor.transfers.on_links,
        away=0.0 if away is None else round(max(now - away.since, 0.0), 3),
        away_why="" if away is None else away.why,
        time_left=None if governor.ends_at == inf else round(max(governor.ends_at - now, 0.0), 3),
    )


def _session(state: State, session: Session, now: float) -> SessionStatus:
    failure = session.failure
    hold_up = hold_ups.of_session(state, session, now)
    second = sum(one.session is session for one in state.graph.shadowed)
    return SessionStatus(
        session=session.id,
        name=session.name,
        client=str(session.client.id),
        durable=session.is_durable,
        tasks=session.submitted,
        unfinished=session.unfinished - second,
        second_runs=session.shadows,
        objects=len(session.objects) + session.gone_objects,
        failure=failure.message if failure else "",
        held_up=str(hold_up) if hold_up else "",
        user=session.belongs_to,
    )
