"""Closes sessions: for their clients, or with the end of the run that has opened them.

Mostly nothing remains of a closed session. But others may have handles of its objects: a task may
have returned futures of them, or another client may have them. Then the session is **left**: its
client no longer takes part in it, unneeded tasks are cancelled, and the session ends with the last
of these objects.
"""

from __future__ import annotations

from rain.base.failures import SessionFailure
from rain.graph import Session, Task, claims, references
from rain.graph.wait import WaitMode
from rain.server.core import by_name, failing, handles, waiting
from rain.server.core.happenings import CloseReason
from rain.server.core.sessions import clear_session, note_end
from rain.server.core.state import State

_CLOSED = SessionFailure("the session was closed")


def close_session(state: State, session: Session, message: str = "") -> None:
    """The client has done with the session, or has gone: only what others have of it remains."""
    state.nested.close(session)
    del session.client.sessions[session.id]
    state.durable.close(session)
    wanted = references.claimed_outside(session)
    if wanted or by_name.has_more_to_do(session):
        _leave(state, session, message)
        needed = references.leading_to(wanted)
        unneeded = [
            task
            for task in session.own_tasks
            if not (task.is_done or task in needed or by_name.goes_on_alone(session, task))
        ]
        failing.cancel(state, unneeded, message or "the session was closed")
    else:
        _end(state, session, message)


def cancel_unneeded(state: State) -> None:
    """In sessions that were left, unneeded objects need not be made."""
    unwanted, state.graph.unwanted = state.graph.unwanted, []
    tasks = {one.producer: None for one in unwanted if one.is_known}
    unneeded = [task for task in tasks if task is not None and _serves_nobody(task)]
    failing.cancel(state, unneeded, "nobody has any of its results")


def end_left(state: State) -> None:
    """Sessions that were left, and whose objects have no handle any more."""
    for session in list(state.left):
        if not (session.tasks or session.objects):
            _end(state, session, state.left.pop(session))


def _serves_nobody(task: Task) -> bool:
    return not task.is_done and not any(output.is_needed for output in task.outputs)


def _leave(state: State, session: Session, message: str) -> None:
    """Its client goes, with its waits and its handles."""
    state.left[session] = message
    session.is_left = True
    session.parent = None  # which may have a parent that was left, and so on
    for wait in list(session.waits):
        if wait.by_owner or wait.mode in (WaitMode.SESSION, WaitMode.NEWS):
            waiting.end(state, wait, _CLOSED)
    session.done, session.undelivered = None, {}
    handles.let_go(state, claims.leave_open(state.graph, session))


def _end(state: State, session: Session, message: str) -> None:
    if session.failure is None:
        note_end(state, session, CloseReason.CLIENT_CLOSE, message)
    waiting.fail_all(state, session, _CLOSED)
    clear_session(state, session)
    del state.graph.sessions[session.id]
