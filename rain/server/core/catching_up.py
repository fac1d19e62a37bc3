"""Notes the present state in an event log that begins in the middle of a run.

The log then has the governors, the clients, and the open sessions with their tasks, as if it had
been there from the beginning. Tasks and objects that were removed before are not noted. If the log
of an earlier server has a session already, only its missing events are noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from rain.base.ids import NUMBER_MASK, KindId, SessionId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import BEGUN, TaskRow
from rain.base.wire.submission import TaskColumns
from rain.graph import Session, Task
from rain.graph.failing import was_cancelled
from rain.graph.run import Run
from rain.server.core.collector import TASK_BYTES, Happenings
from rain.server.core.happenings import (
    ClientNew,
    ClientSubmit,
    GovernorNew,
    SessionNew,
    TaskFailed,
    TaskNotes,
    TasksFinished,
    TasksSkipped,
    TasksStarted,
)
from rain.server.core.state import State


@frozen
class Logged:
    """The numbers of the tasks and objects of a session that the log has."""

    tasks: frozenset[int] = frozenset()
    objects: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()  # tasks of which it has a start
    ended: frozenset[int] = frozenset()  # tasks of which it has the end


NOTHING = Logged()


def note_all(
    state: State,
    happenings: Happenings,
    now: float,
    logged: Mapping[SessionId, Logged] = MappingProxyType({}),
) -> None:
    """Between two turns, before anything else is noted."""
    graph = state.graph
    for governor in graph.governors.values():
        happenings.add(GovernorNew(now, governor.address), len(governor.address))
    for client in graph.clients:
        happenings.add(ClientNew(now, client))
    for session in graph.sessions.values():
        known = logged.get(session.id, NOTHING)
        if session.id not in logged:
            opened = SessionNew(
                now,
                session.id,
                session.client.id,
                session.name,
                session.user,
                session.belongs_to,
            )
            happenings.add(opened, len(session.name) + len(session.user))
        if session.tasks:
            submission = _submission(session, known, now)
            if submission.tasks.ids or submission.constants:
                happenings.add(submission, TASK_BYTES * len(submission.tasks.ids))
            _note_runs(session, known, happenings, now)


def _submission(session: Session, known: Logged, now: float) -> ClientSubmit:
    """All tasks that are there and not in the log, as one submission."""
    columns = TaskColumns()
    task_kinds: dict[KindId, TaskKind] = {}
    object_kinds: dict[KindId, ObjectKind] = {}
    for task in session.own_tasks:
        if task.id & NUMBER_MASK in known.tasks:
            continue
        columns.ids.append(task.id)
        columns.kinds.append(task.kind.id)
        columns.configs.append(task.config)
        columns.input_counts.append(len(task.inputs))
        columns.inputs += [given.id for given in task.inputs]
        columns.outputs += [made.id for made in task.outputs]
        if task.kind.id not in task_kinds:
            task_kinds[task.kind.id] = task.kind
            object_kinds.update({made.kind.id: made.kind for made in task.outputs})
    constants = [
        one
        for one in session.objects.values()
        if one.producer is None and one.id & NUMBER_MASK not in known.objects
    ]
    object_kinds.update({one.kind.id: one.kind for one in constants})
    return ClientSubmit(
        now,
        session.id,
        task_kinds,
        object_kinds,
        columns,
        [one.id for one in constants],
        [one.kind.id for one in constants],
    )


def _note_runs(session: Session, known: Logged, happenings: Happenings, now: float) -> None:
    """Notes starts and ends of these tasks, unless the log has them already."""
    finished: dict[str, TasksFinished] = {}  # by governor
    skipped: list[Task] = []
    cancelled: list[Task] = []
    for task in session.own_tasks:
        if _is_logged(task, known):
            continue
        if task.row in BEGUN:
            run = task.last_run()
            happenings.add(TasksStarted(run.started, run.governor, [task.id]), TASK_BYTES)
        elif task.row is TaskRow.FINISHED:
            run = task.last_run()
            batch = finished.get(run.governor)
            if batch is None:
                batch = finished[run.governor] = TasksFinished(now, run.governor)
            _add_end(batch, task, run, known)
        elif task.row is TaskRow.FAILED and task.run is not None:
            run, notes = task.run, _notes(task)
            end = TaskFailed(now, task.id, run.governor, run.started, run.message, notes)
            happenings.add(end, len(run.message) + len(notes.logs) + len(notes.debug))
        elif task.has_failed:
            (cancelled if was_cancelled(task) else skipped).append(task)
    for batch in finished.values():
        happenings.add(batch, TASK_BYTES * len(batch.ids))
    for tasks in (skipped, cancelled):
        if tasks:
            ids, size = [task.id for task in tasks], TASK_BYTES * len(tasks)
            happenings.add(TasksSkipped(now, None, "", ids, tasks is cancelled), size)


def _add_end(batch: TasksFinished, task: Task, run: Run, known: Logged) -> None:
    if task.id & NUMBER_MASK not in known.begun:
        batch.sudden.append(len(batch.ids))  # its start was not told before
    batch.ids.append(task.id)
    batch.starts.append(run.started)
    batch.durations.append(run.duration)
    if task.user or run.debug or task.id in task.session.logs:
        batch.notes[task.id] = _notes(task)


def _is_logged(task: Task, known: Logged) -> bool:
    """Whether the log has how it stands."""
    return task.id & NUMBER_MASK in (known.begun if task.row in BEGUN else known.ended)


def _notes(task: Task) -> TaskNotes:
    debug = "" if task.run is None else task.run.debug
    return TaskNotes(task.user, debug, task.session.logs.get(task.id, ""))
