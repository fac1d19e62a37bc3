"""Access rights: a user sees the sessions of that user; admins and the owner see all sessions.

A client sees a durable session of another user if that user has shared it. Every refusal names what
is refused. In a cluster whose clients all belong to its owner, these functions return at their
first line.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.errors import RefusedError
from rain.base.ids import ClientId, session_of, spell
from rain.base.users import OWNER, rule_of, spell_user
from rain.base.wire.printed import Watch
from rain.graph import Session, Task
from rain.server.core.durable import EVERYBODY, Durable
from rain.server.core.state import State


def why_not(state: State, user: str) -> str:
    """The reason why a client of this user is refused; "" if it is admitted."""
    if user != OWNER and rule_of(state.graph.users, user).locked:
        return f"the user {user} is locked on this cluster"
    return ""


def why_not_any_more(state: State, client: ClientId) -> str:
    """Why a client that was let in has to leave; "" if it stays."""
    known = state.graph.clients.get(client)
    return "" if known is None else why_not(state, known.user)


def user_of(state: State, client: ClientId) -> str:
    """The user whose rights a client has. A running task has those of its user.

    The executor of a task connects with the key of the cluster. Before any other request it says
    which task it asks for.
    """
    known = state.graph.clients.get(client)
    if known is None:
        return OWNER
    return known.user if known.asks_for is None else known.asks_for


def asks_for(state: State, client: ClientId, task: Task) -> None:
    """Makes the client ask for a running task from now on; refused for another user's task."""
    known, user = state.graph.clients[client], task.session.belongs_to
    if known.user not in (OWNER, user) and not is_admin(state, known.user):
        raise RefusedError(
            f"the task {spell(task.id)} belongs to {spell_user(user)}, and {known.user} may not ask"
            " for it"
        )
    known.asks_for = user


def is_admin(state: State, user: str) -> bool:
    """Whether a user may do what the owner may."""
    return user == OWNER or rule_of(state.graph.users, user).admin


def check_admin(state: State, client: ClientId, what: str) -> None:
    """Refuses what only the owner and admins may do."""
    user = user_of(state, client)
    if not is_admin(state, user):
        raise RefusedError(f"{user} may not {what}: only the owner of the cluster and admins may")


def sees(state: State, client: ClientId, session: Session) -> bool:
    """Whether a client may take part in a session, and see what is in it."""
    return user_sees(state, user_of(state, client), session)


def user_sees(state: State, user: str, session: Session) -> bool:
    """Whether the clients of a user may take part in a session, and see what is in it."""
    if user in (OWNER, session.belongs_to) or is_admin(state, user):
        return True
    durable = state.durable.of(session)
    return durable is not None and is_shared(durable, user)


def is_shared(durable: Durable, user: str) -> bool:
    """Whether a durable session belongs to this user, or was shared with this user."""
    return user in (durable.belongs_to, *durable.shared_with) or EVERYBODY in durable.shared_with


def check_sees(state: State, client: ClientId, session: Session) -> None:
    """Refuses a session of another user."""
    if not sees(state, client, session):
        raise RefusedError(
            f"the session {session.id} belongs to {spell_user(session.belongs_to)}, and"
            f" {user_of(state, client)} may not see it"
        )


def opens(state: State, client: ClientId, name: str) -> str:
    """The full name of the durable session that a client means, which may be a new one."""
    user = user_of(state, client)
    full = state.durable.full_name(user, name)
    durable = state.durable.by_name.get(full)
    if durable is not None and not (is_admin(state, user) or is_shared(durable, user)):
        raise RefusedError(
            f"the durable session {name!r} belongs to {spell_user(durable.belongs_to)}, who has not"
            f" shared it with {user}"
        )
    return full


def changes(state: State, client: ClientId, name: str) -> str:
    """The full name of a durable session that a client may remove or share."""
    user = user_of(state, client)
    full = opens(state, client, name)
    durable = state.durable.by_name.get(full)
    if durable is not None and durable.belongs_to != user and not is_admin(state, user):
        raise RefusedError(
            f"the durable session {name!r} belongs to {spell_user(durable.belongs_to)}, who alone"
            " removes and shares it"
        )
    return full


def shown_name(durable: Durable, user: str) -> str:
    """The name that this user has to use."""
    if user == OWNER:
        return durable.name
    if durable.belongs_to == OWNER:
        return f"/{durable.name}"
    return durable.name.removeprefix(f"{user}/")


def may_watch(state: State, client: ClientId, watch: Watch | None) -> Watch | None:
    """The part of a watch without the sessions of other users."""
    if watch is None or user_of(state, client) == OWNER:
        return watch
    asked = {*watch.sessions, *map(session_of, watch.tasks)}
    known = [state.graph.sessions[one] for one in asked if one in state.graph.sessions]
    seen = {session.id for session in known if sees(state, client, session)}
    return evolve(
        watch,
        sessions=watch.sessions & seen,
        tasks=frozenset(task for task in watch.tasks if session_of(task) in seen),
    )
