"""What one user may have at a time: more is refused by name, and nothing of it is half done.

What tasks open and submit is not limited: a task that is refused a part of its work would fail in
the middle of it.
"""

from __future__ import annotations

from rain.base.errors import RefusedError
from rain.base.ids import ClientId
from rain.base.users import rule_of, spell_user
from rain.graph import Session
from rain.server import rights
from rain.server.state import State


def check_sessions(state: State, client: ClientId) -> None:
    """Refuses one more session of a user who has as many as allowed."""
    user = rights.user_of(state, client)
    most = rule_of(state.graph.users, user).sessions
    if not most:
        return
    there = sum(
        session.belongs_to == user and session.parent is None and not session.is_left
        for session in state.graph.sessions.values()
    )
    if there >= most:
        raise RefusedError(
            f"{spell_user(user)} has {there} open sessions, and may have {most} (sessions in the"
            " file of users): close one first"
        )


def check_tasks(state: State, session: Session, more: int) -> None:
    """Refuses a submission with which a user would have too many unfinished tasks."""
    user = session.belongs_to
    most = rule_of(state.graph.users, user).tasks
    if not most or session.parent is not None:
        return
    there = sum(
        other.unfinished for other in state.graph.sessions.values() if other.belongs_to == user
    )
    if there + more > most:
        raise RefusedError(
            f"{spell_user(user)} has {there} unfinished tasks and submits {more} more: {most} are"
            " allowed at a time (tasks in the file of users)"
        )
