"""Nested tasks: the sessions of tasks that submit tasks, and the cpus that these lend while they
wait.

A task that opens a session is the parent of all tasks submitted there. The session ends with the
run of its parent, and its unfinished tasks are cancelled. So a cancelled task takes along the tasks
that it has submitted. There are two exceptions. The sessions of a run that is tried again are held
for the next run (`adopting`). The sessions of a task that was cancelled alone are set free: they
end when their tasks have ended, also when their client has left.

While a task waits for other tasks its governor reports it as blocked: it takes no cpus, and deeper
tasks may have them.
"""

from __future__ import annotations

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import TaskId, spell
from rain.base.states import TaskRow
from rain.base.wire.update import Update
from rain.graph import Client, Governor, Task, progress
from rain.server.core import adopting, reported
from rain.server.core.closing import close_session
from rain.server.core.state import State


def running_task(state: State, task_id: TaskId) -> Task:
    """The task that wants to open a session."""
    task = state.graph.tasks.get(task_id)
    if task is None or task.assigned is None or task.is_done:
        raise RefusedError(f"the task {spell(task_id)} cannot open a session: it does not run")
    return task


def end_what_is_over(state: State) -> None:
    """Closes the sessions of runs that have ended, and those that are free and have nothing to do.

    That may end further runs, of their tasks.
    """
    if state.nested.set_free:
        _end_what_is_free(state)
    if state.nested.held:
        adopting.forget(state)
    while over := state.nested.over():
        for session in over:
            if session in state.nested.of_runs:
                adopting.hold(state, session)
                close_session(state, session, "the task that has opened it has ended")


def client_left(state: State, client: Client) -> None:
    """It is forgotten with the last of its sessions; those that were set free may live longer."""
    client.has_left = True
    if not client.sessions:
        del state.graph.clients[client.id]


def _end_what_is_free(state: State) -> None:
    """Closes sessions that were set free when they have nothing left to do, or when the session of
    the task that opened them has ended.
    """
    for session in list(state.nested.set_free):
        assert session.parent is not None
        above = session.parent.session
        if session.unfinished and state.graph.sessions.get(above.id) is above:
            continue
        close_session(state, session, "the task that has opened it was cancelled alone")
        if session.client.has_left:
            client_left(state, session.client)


def block_and_resume(state: State, governor: Governor, update: Update) -> list[Task]:
    """Started tasks wait, or go on. Returns blocked tasks whose inputs this very update brings."""
    ahead: list[Task] = []
    for task_id, number in zip(update.resumed_ids, update.resumed_runs, strict=True):
        task = reported.task_of_run(state, governor, task_id, number)
        if task is not None and task.row is TaskRow.BLOCKED:
            progress.resume(task, governor)
            state.touched[governor] = None
    for task_id, number in zip(update.blocked_ids, update.blocked_runs, strict=True):
        task = reported.task_of_run(state, governor, task_id, number)
        if task is not None:
            if task.row is TaskRow.AHEAD:
                ahead.append(task)
            else:
                block(state, governor, task)
    return ahead


def block(state: State, governor: Governor, task: Task) -> None:
    """A started task waits for others, and its governor has room for deeper ones."""
    if task.row is TaskRow.BLOCKED or task.row is TaskRow.CANCELLING:
        return  # an old report was repeated, or it must end anyway
    if task.row is not TaskRow.RUNNING:
        raise ProtocolError(f"{spell(task.id)} waits for other tasks, but is {task.row.value}")
    progress.block(task, governor)
    state.touched[governor] = None
