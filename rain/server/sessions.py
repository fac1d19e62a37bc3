"""The end of sessions: closed by their client, or failed with their first failing task."""

from __future__ import annotations

from rain.base.failures import SessionFailure
from rain.graph import Session
from rain.graph.release import clear
from rain.server import happenings, waiting
from rain.server.happenings import CloseReason
from rain.server.state import State


def fail_session(state: State, session: Session, failure: SessionFailure) -> None:
    """Ends all work of a session; whoever waits, and whoever asks later, gets the failure."""
    if session.failure is not None:
        return
    session.failure = failure
    _note_end(state, session, CloseReason.ERROR, failure.message)
    waiting.fail_all(state, session, failure)
    _clear(state, session)


def close_session(state: State, session: Session, message: str = "") -> None:
    """The client has done with the session, or has gone: nothing of it remains."""
    if session.failure is None:
        _note_end(state, session, CloseReason.CLIENT_CLOSE, message)
    waiting.fail_all(state, session, SessionFailure("the session was closed"))
    _clear(state, session)
    del state.graph.sessions[session.id]
    del session.client.sessions[session.id]


def _note_end(state: State, session: Session, reason: CloseReason, message: str) -> None:
    end = happenings.SessionClosed(state.now, session.id, reason, message)
    state.note(end, len(message))


def _clear(state: State, session: Session) -> None:
    state.unfetched = {
        key: tries for key, tries in state.unfetched.items() if key[0].session is not session
    }
    state.infeasible = {
        key: deadline for key, deadline in state.infeasible.items() if key[0] is not session
    }
    state.forced = {
        tested: wanted for tested, wanted in state.forced.items() if tested.session is not session
    }
    state.estimates.forget_session(session)
    for governor in clear(state.graph, session):
        state.orders(governor).forget_sessions.append(session.id)
    for governor in state.graph.governors.values():
        state.touched[governor] = None
    state.news.cleared.append(session)
