"""Reports how much each user has used, and whose tasks wait, to clients."""

from __future__ import annotations

from collections import Counter

from attrs import evolve

from rain.base.ids import ClientId, SessionId
from rain.base.states import BEGUN
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.graph import Session
from rain.server.core import hold_ups, rights
from rain.server.core.state import State
from rain.server.core.turns_of_users import TurnsOfUsers


def report(state: State, client: ClientId, now: float) -> UsageReport:
    """The usage that a client may see, between two turns."""
    user = rights.user_of(state, client)
    all_users = rights.is_admin(state, user)
    running = Counter(
        task.session.root
        for governor in state.graph.governors.values()
        for task in governor.assigned
        if task.row in BEGUN and task not in state.graph.shadowed
    )
    unfinished: Counter[SessionId] = Counter()
    stored: Counter[SessionId] = Counter()
    for session in state.graph.sessions.values():
        unfinished[session.root] += session.unfinished
        stored[session.root] += session.stored
    days = tuple(
        UserUsage(of, day, used.tasks, used.cpu_seconds, used.bytes, used.byte_seconds)
        for (of, day), used in state.usage.by_day(state.graph, now).items()
        if all_users or of == user
    )
    turns = TurnsOfUsers.of(state)
    sessions = tuple(
        evolve(
            _of_session(state, session, running[session.id], unfinished[session.id], turns, now),
            stored=stored[session.id],
            byte_seconds=session.used.byte_seconds
            + stored[session.id] * state.usage.not_counted(now),
        )
        for session in state.graph.sessions.values()
        if session.parent is None and (all_users or session.belongs_to == user)
    )
    return UsageReport(days, sessions)


def _of_session(
    state: State,
    session: Session,
    running: int,
    unfinished: int,
    turns: TurnsOfUsers,
    now: float,
) -> SessionUsage:
    waiting = max(unfinished - running, 0)
    hold_up = hold_ups.of_session(state, session, now) if waiting else None
    why = "" if hold_up is None else hold_up.why
    if waiting and not why:
        why = turns.why(session.belongs_to)
    if waiting and not why and not running:
        why = "all cpus are taken"
    used = session.used
    return SessionUsage(
        session.belongs_to,
        session.id,
        session.name,
        waiting,
        running,
        used.tasks,
        used.cpu_seconds,
        used.bytes,
        _seconds_left(session, waiting),
        why,
    )


def _seconds_left(session: Session, waiting: int) -> float:
    """As long as the finished tasks of the session have taken; below 0 if there are none."""
    if not waiting:
        return 0.0
    known = session.learned.values()
    finished = sum(learned.finished for learned in known)
    return waiting * sum(learned.seconds for learned in known) / finished if finished else -1.0
