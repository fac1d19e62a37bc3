"""Takes and releases the handles of clients, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rain.base.errors import RefusedError
from rain.base.ids import ClientId, ObjectId, TaskId, session_of, spell
from rain.base.wire.requests import HandlesGone, TakeHandles
from rain.graph import DataObject, Session, claims
from rain.graph.handles import Member
from rain.server.core import rights
from rain.server.core.sessions import known_object
from rain.server.core.state import State

Id = TypeVar("Id", TaskId, ObjectId)


def gone(state: State, client: ClientId, handles: HandlesGone) -> None:
    """A client releases handles. Handles of removed nodes are no error, because news may come
    late.
    """
    for session, member, task_id in _named(state, client, handles.tasks):
        task = session.tasks.get(task_id)
        if task is not None:
            claims.drop_handle(state.graph, member, task)
    unwanted: list[DataObject] = []
    for session, member, object_id in _named(state, client, handles.objects):
        data_object = session.objects.get(object_id)
        if data_object is not None and claims.drop_handle(state.graph, member, data_object):
            unwanted.append(data_object)
    let_go(state, unwanted)


def take(state: State, client: ClientId, asked: TakeHandles) -> list[DataObject]:
    """Takes all of these handles or none. Unknown nodes are refused, and data that nobody claims
    cannot be kept.

    A client that wants the data of something in a session that goes on need not have joined the
    session: a future, which stands for the data, was given to it.
    """
    if asked.wants_data:
        objects = [_lent_object(state, client, object_id) for object_id in asked.objects]
        for data_object in objects:
            if not (data_object.kept or data_object.needed_by):
                raise RefusedError(f"the data object {spell(data_object.id)} is not kept")
    else:
        objects = [known_object(state, client, object_id) for object_id in asked.objects]
    for data_object in objects:
        if data_object.producer in state.graph.shadowed:  # nobody has a handle of it
            raise RefusedError(f"the data object {spell(data_object.id)} was never submitted")
    for data_object in objects:
        session = data_object.session
        member = session.members.get(client) or session.visit(client)
        if member.is_visitor:
            session.shared[data_object] = None
        claims.take_handle(member, data_object, wants_data=asked.wants_data)
    return objects


def _lent_object(state: State, client: ClientId, object_id: ObjectId) -> DataObject:
    """The object, also for a client that has not joined its session, if that session goes on."""
    data_object = state.graph.objects.get(object_id)
    if data_object is not None and data_object.session.goes_on:
        rights.check_sees(state, client, data_object.session)
        return data_object
    return known_object(state, client, object_id)


def unkeep(state: State, client: ClientId, object_ids: Iterable[ObjectId]) -> None:
    """The client does not want the data of these any more; others may."""
    objects = [known_object(state, client, object_id) for object_id in object_ids]
    for data_object in objects:
        if not data_object.handles.wanted_by(client):
            by = " by this client" if data_object.kept else ""
            raise RefusedError(f"the data object {spell(data_object.id)} is not kept{by}")
    unwanted = [
        data_object
        for data_object in objects
        if claims.unkeep(state.graph, data_object.session.members[client], data_object)
    ]
    let_go(state, unwanted)


def leave(state: State, client: ClientId) -> None:
    """A client has gone: it takes part in no session any more, and its handles go with it."""
    for session in state.graph.sessions.values():
        member = session.members.get(client)
        if member is not None and not member.is_owner:
            claims.leave(state.graph, session, member)
    drop_departed(state)


def drop_departed(state: State) -> None:
    """Some of the handles go of clients that have left; the others go in the turns that follow."""
    let_go(state, claims.drop_departed(state.graph, state.settings.let_go_at_once))


def let_go(state: State, unwanted: list[DataObject]) -> None:
    """No client wants the data of these any more."""
    if unwanted:
        if state.happenings is not None:
            state.happenings.unkept(state.now, tuple(one.id for one in unwanted))
        state.release(unwanted)


def _named(
    state: State, client: ClientId, ids: Iterable[Id]
) -> Iterator[tuple[Session, Member, Id]]:
    """Those of the ids that are of sessions in which the client takes part."""
    for packed in ids:
        session = state.graph.sessions.get(session_of(packed))
        member = None if session is None else session.members.get(client)
        if session is not None and member is not None:
            yield session, member, packed
