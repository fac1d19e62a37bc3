"""Counts how much each user has used, and reports whose tasks wait.

Finished tasks are counted when their durations are learned, after the effects of a turn were sent.
Stored bytes are counted about once a second. The counts are part of the state, so a restarted
server has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy

from attrs import evolve

from rain.base.ids import ClientId, SessionId
from rain.base.kinds import TaskKind
from rain.base.states import BEGUN
from rain.base.usage import DAY, Used
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.graph import Session
from rain.server.core import hold_ups, rights
from rain.server.core.state import State
from rain.server.core.turns_of_users import TurnsOfUsers

MOST_ROWS = 10_000
"""Days of users that are remembered; the earliest one is forgotten first."""

EVERY = 1.0
"""Seconds between two looks at what is stored."""


def note(
    state: State, session: Session, kind: TaskKind, seconds: Sequence[float], made: int
) -> None:
    """Tasks of a kind have finished, and have made that many bytes."""
    cpus = kind.resources.cpus
    _root_of(state, session).used.note(cpus, seconds, made)
    _on_day(state, session.belongs_to, int(state.now // DAY)).note(cpus, seconds, made)


def note_stored(state: State) -> None:
    """Counts stored data from the last time until now, before any of it changes.

    Data that comes and goes within `EVERY` counts for all of that time, or not at all.
    """
    seconds = _not_counted(state, state.now)
    for session in state.graph.sessions.values():
        _root_of(state, session).used.byte_seconds += session.stored * seconds
    for user, day, byte_seconds in _stored_by_day(state, state.now):
        _on_day(state, user, day).byte_seconds += byte_seconds
    state.stored_since = state.now


def by_day(state: State, now: float) -> dict[tuple[str, int], Used]:
    """The usage of each user on each day until now, between two turns."""
    found = {key: copy(used) for key, used in state.used.items()}
    for user, day, byte_seconds in _stored_by_day(state, now):
        found.setdefault((user, day), Used()).byte_seconds += byte_seconds
    return found


def _not_counted(state: State, now: float) -> float:
    """The seconds for which what is stored does not count yet."""
    return max(now - state.stored_since, 0.0) if state.stored_since else 0.0


def _stored_by_day(state: State, now: float) -> Iterator[tuple[str, int, float]]:
    """The byte-seconds that do not count yet, of each user and each day."""
    by_user: Counter[str] = Counter()
    for session in state.graph.sessions.values():
        if session.stored:
            by_user[session.belongs_to] += session.stored
    since = now - _not_counted(state, now)
    while by_user and since < now:
        day = int(since // DAY)
        until = min((day + 1) * DAY, now)
        for user, stored in by_user.items():
            yield user, day, stored * (until - since)
        since = until


def _root_of(state: State, session: Session) -> Session:
    return state.graph.sessions.get(session.root, session)


def _on_day(state: State, user: str, day: int) -> Used:
    used = state.used.get((user, day))
    if used is None:
        used = state.used[user, day] = Used()
        if len(state.used) > MOST_ROWS:
            del state.used[next(iter(state.used))]
    return used


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
        for (of, day), used in by_day(state, now).items()
        if all_users or of == user
    )
    turns = TurnsOfUsers.of(state)
    sessions = tuple(
        evolve(
            _of_session(state, session, running[session.id], unfinished[session.id], turns, now),
            stored=stored[session.id],
            byte_seconds=session.used.byte_seconds + stored[session.id] * _not_counted(state, now),
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
