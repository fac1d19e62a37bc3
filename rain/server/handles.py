"""Handles that clients do not have any more: nothing is kept for them, and what is over may go."""

from __future__ import annotations

from collections.abc import Iterable

from rain.base.ids import ClientId, ObjectId, session_of
from rain.base.states import ObjectState
from rain.graph import DataObject, Session
from rain.server.messages import HandlesGone
from rain.server.state import State


def gone(state: State, event: HandlesGone) -> None:
    """What has gone before, or was never accepted, is no mistake: such news is on its way long."""
    leaving = state.graph.leaving
    for task_id in event.tasks:
        session = _session(state, event.client, task_id)
        task = None if session is None else session.tasks.get(task_id)
        if task is not None and task.claims:
            task.claims -= 1
            if task.is_done:
                leaving.append(task)
    _objects_gone(state, event.client, event.objects)


def _objects_gone(state: State, client: ClientId, object_ids: Iterable[ObjectId]) -> None:
    kept: list[DataObject] = []
    for object_id in object_ids:
        session = _session(state, client, object_id)
        data_object = None if session is None else session.objects.get(object_id)
        if session is None or data_object is None or not data_object.claims:
            continue
        data_object.claims -= 1
        if data_object.claims:
            continue
        if data_object.kept:
            data_object.kept = False
            session.undelivered.pop(data_object, None)
            kept.append(data_object)
        if data_object.state is ObjectState.REMOVED or data_object.has_failed:
            state.graph.leaving.append(data_object)
    if kept:
        if state.happenings is not None:
            state.happenings.unkept(state.now, tuple(one.id for one in kept))
        state.release(kept)


def _session(state: State, client: ClientId, packed: int) -> Session | None:
    """The session of this node, if the client takes part in it."""
    session = state.graph.sessions.get(session_of(packed))
    if session is None or (session.client.id != client and client not in session.members):
        return None
    return session
