"""Finds sessions and nodes for clients that may use them, and fails sessions (`closing` ends
them).
"""

from __future__ import annotations

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ClientId, ObjectId, SessionId, TaskId, session_of, spell
from rain.graph import DataObject, Session, Task, references
from rain.graph.release import clear, take_apart
from rain.server.core import happenings, waiting
from rain.server.core.happenings import CloseReason
from rain.server.core.state import State


def session_for(state: State, client_id: ClientId, session_id: SessionId) -> Session:
    """The session, if this client takes part in it."""
    session = state.graph.sessions.get(session_id)
    if session is None or client_id not in session.members:
        raise RefusedError(f"the session {session_id} is not open, or it is another client's")
    return session


def living_session(state: State, client_id: ClientId, session_id: SessionId) -> Session:
    """The session, if this client takes part in it and it has not failed."""
    session = state.graph.sessions.get(session_id)
    if session is not None and client_id in session.members and session.failure is None:
        return session  # as nearly always
    session = session_for(state, client_id, session_id)
    if session.failure is not None:
        raise SessionFailedError(session.failure)
    return session


def known_task(state: State, client_id: ClientId, task_id: TaskId) -> Task:
    """The task, if the client takes part in its session."""
    session = living_session(state, client_id, session_of(task_id))
    task = session.tasks.get(task_id)
    if task is None:
        raise RefusedError(f"the task {spell(task_id)} is unknown: {_why_unknown(session)}")
    return task


def known_object(state: State, client_id: ClientId, object_id: ObjectId) -> DataObject:
    """The data object, if the client takes part in its session."""
    session = living_session(state, client_id, session_of(object_id))
    data_object = session.objects.get(object_id)
    if data_object is None:
        raise RefusedError(
            f"the data object {spell(object_id)} is unknown: {_why_unknown(session)}"
        )
    return data_object


def _why_unknown(session: Session) -> str:
    if not (session.gone_tasks or session.gone_objects):
        return "it was never submitted"
    return "it was never submitted, or it has gone since nobody had a handle of it any more"


def fail_session(state: State, session: Session, failure: SessionFailure) -> None:
    """Ends all work of a session; those who wait, and those who ask later, get the failure."""
    if session.failure is not None:
        return
    session.failure = failure
    note_end(state, session, CloseReason.ERROR, failure.message)
    waiting.fail_all(state, session, failure)
    clear_session(state, session)


def note_end(state: State, session: Session, reason: CloseReason, message: str) -> None:
    end = happenings.SessionClosed(state.now, session.id, reason, message)
    state.note(end, len(message))


def clear_session(state: State, session: Session) -> None:
    state.fetches.forget(lambda data_object, _: data_object.session is session)
    state.not_started = {
        task: times for task, times in state.not_started.items() if task.session is not session
    }
    state.infeasible.forget(session)
    state.forced = {
        tested: wanted for tested, wanted in state.forced.items() if tested.session is not session
    }
    state.estimates.forget_session(session)
    if session.contents or session.reads_outside:
        state.release_soon(references.forget_claims(session))
    for governor, held in clear(state.graph, session).items():
        state.forget_session(governor, session, held)
    take_apart(state.graph, state.settings.let_go_at_once)
    for governor in state.graph.governors.values():
        if governor.scheduled:
            state.touched[governor] = None
    state.news.cleared.append(session)
