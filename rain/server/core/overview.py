"""The numbers about the server in a client's pictures, counted when they are asked for."""

from __future__ import annotations

from rain.base.ids import SessionId
from rain.base.states import TaskState
from rain.base.wire.answers import Overview
from rain.server.core.state import State


def gather_overview(state: State, session_id: SessionId, http: str) -> Overview:
    """The numbers between two turns; of all sessions unless one is named.

    Only the tasks that are assigned are iterated over: a governor is told few ahead.
    """
    graph = state.graph
    if session_id:
        named = graph.sessions.get(session_id)
        sessions = [] if named is None else [named]
    else:
        sessions = list(graph.sessions.values())
    tasks = sum(one.submitted for one in sessions)
    running = sum(
        task.state is TaskState.RUNNING
        and (not session_id or task.session.id == session_id)
        and task not in graph.shadowed
        for governor in graph.governors.values()
        for task in governor.assigned
    )
    second = sum(not session_id or one.session.id == session_id for one in graph.shadowed)
    return Overview(
        governors=len(graph.governors),
        cpus=sum(governor.offered.cpus for governor in graph.governors.values()),
        tasks=tasks,
        running=running,
        finished=tasks - sum(one.unfinished for one in sessions) + second,
        http=http,
    )
