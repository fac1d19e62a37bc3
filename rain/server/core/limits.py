"""Limits of one user: a request beyond them is refused by name, and nothing of it is applied.

Requests of running tasks are not limited, because a refusal would make the task fail halfway.
"""

from __future__ import annotations

from rain.base.errors import RefusedError
from rain.base.ids import ClientId
from rain.base.sizes import spell_size
from rain.base.users import rule_of, spell_user
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.submission import Submission
from rain.graph import Session
from rain.server.core import rights
from rain.server.core.metering import never_fits, stored_of
from rain.server.core.state import State


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


def check(state: State, session: Session, submission: Submission) -> None:
    """Refuses a submission with which a user would have more than allowed, or tasks that can never
    run."""
    _check_tasks(state, session, len(submission.tasks.ids))
    for kind in submission.task_kinds:
        reason = never_fits(state.graph, session, kind)
        if reason:
            raise RefusedError(reason)
    large = [size for size in submission.constants.lengths() if size > INLINE_LIMIT]
    _check_bytes(state, session, sum(large))


def _check_bytes(state: State, session: Session, more: int) -> None:
    """Small constants are not refused: they come with every call, and its task waits if there is no
    room.
    """
    user = session.belongs_to
    most = rule_of(state.graph.users, user).bytes
    if not most or not more or session.parent is not None:
        return
    there = stored_of(state.graph, user)
    if there + more > most:
        raise RefusedError(
            f"{spell_user(user)} stores {spell_size(there)} and submits {spell_size(more)} more:"
            f" {spell_size(most)} are allowed (bytes in the file of users)"
        )


def _check_tasks(state: State, session: Session, more: int) -> None:
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
