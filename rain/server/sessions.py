"""The end of sessions: closed by their client, or failed with their first failing task."""

from __future__ import annotations

from rain.base.wire import SessionFailure
from rain.graph import Session
from rain.graph.release import clear
from rain.server import waiting
from rain.server.state import State


def fail_session(state: State, session: Session, failure: SessionFailure) -> None:
    """Ends all work of a session; whoever waits, and whoever asks later, gets the failure."""
    if session.failure is not None:
        return
    session.failure = failure
    waiting.fail_all(state, session, failure)
    _clear(state, session)


def close_session(state: State, session: Session) -> None:
    """The client has done with the session: nothing of it remains."""
    waiting.fail_all(state, session, SessionFailure("the session was closed"))
    _clear(state, session)
    del state.graph.sessions[session.id]
    del session.client.sessions[session.id]


def _clear(state: State, session: Session) -> None:
    state.unfetched = {
        key: tries for key, tries in state.unfetched.items() if key[0].session is not session
    }
    state.infeasible = {
        key: deadline for key, deadline in state.infeasible.items() if key[0] is not session
    }
    for governor in clear(state.graph, session):
        state.orders(governor).forget_sessions.append(session.id)
    for governor in state.graph.governors.values():
        state.touched[governor] = None
    state.news.cleared.append(session)
