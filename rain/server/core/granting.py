"""Handles the requests of clients that are granted or refused at once."""

from __future__ import annotations

from attrs import evolve

from rain.base.errors import InvariantError, RefusedError, SessionFailedError
from rain.base.ids import (
    FIRST_OF_SERVER,
    FIRST_SHARED,
    SHARED_RANGE,
    ClientId,
    ObjectId,
    RequestId,
    SessionId,
    TaskId,
    spell,
)
from rain.base.states import ObjectState
from rain.base.wire.answers import (
    DurableReports,
    JoinedSession,
    ObjectReport,
    TaskReport,
    TasksByName,
)
from rain.base.wire.requests import (
    AnyRequest,
    CancelUnstarted,
    CloseSession,
    DurableSessions,
    DurableTasks,
    Fetch,
    JoinSession,
    OpenSession,
    Promise,
    RemoveDurable,
    ReportsOf,
    ServerInfo,
    ShareDurable,
    Submit,
    TakeHandles,
    Unkeep,
    WaitFor,
)
from rain.graph import DataObject, Session, Task, Wait, WaitMode
from rain.graph.cancelling import unstarted
from rain.server.core import (
    by_name,
    failing,
    feasibility,
    handles,
    happenings,
    limits,
    logs,
    nesting,
    rights,
    waiting,
)
from rain.server.core.closing import close_session
from rain.server.core.messages import Answered, GatherReports, Granted
from rain.server.core.sessions import known_object, known_task, session_for
from rain.server.core.state import State


def grant(state: State, client_id: ClientId, request: RequestId, what: AnyRequest) -> None:
    """Carries out a request and answers it; raises the refusal."""
    answer: SessionId | JoinedSession | tuple[ObjectReport | ObjectId, ...] | None = None
    match what:
        case OpenSession():
            answer = _open(state, client_id, what).id
        case JoinSession():
            answer = _join(state, client_id, what)
        case CloseSession(session_id):
            close_session(state, _own(state, client_id, session_id))
        case Unkeep(object_ids):
            handles.unkeep(state, client_id, object_ids)
        case TakeHandles():
            answer = tuple(map(_report_object, handles.take(state, client_id, what)))
        case ReportsOf() | DurableSessions() | DurableTasks():
            state.emit(Answered(request, _report(state, client_id, what)))
            return
        case CancelUnstarted():
            answer = _cancel_unstarted(state, client_id, what)
        case Fetch(object_id):
            _fetch(state, client_id, request, object_id)
            return
        case ServerInfo():
            state.give_all()  # so that it does not show what is about to go
            state.emit(GatherReports(request))
            return
        case RemoveDurable() | ShareDurable() | Promise():
            _note(state, client_id, what)
        case Submit() | WaitFor():
            raise InvariantError(f"{type(what).__name__} is not answered here")
    state.emit(Granted(request, answer))


def _note(state: State, client_id: ClientId, what: RemoveDurable | ShareDurable | Promise) -> None:
    """Grants a request that concerns no session."""
    match what:
        case RemoveDurable(name):
            full = rights.changes(state, client_id, name)
            by_name.remove(state, full, rights.user_of(state, client_id))
        case ShareDurable(name, users):
            full = rights.changes(state, client_id, name)
            by_name.share(state, full, users, rights.user_of(state, client_id))
        case Promise():
            rights.check_admin(state, client_id, "promise governors")
            state.graph.clients[client_id].promise = what
            feasibility.governors_changed(state)


def _report(
    state: State, client_id: ClientId, what: ReportsOf | DurableSessions | DurableTasks
) -> tuple[tuple[TaskReport, ...], tuple[ObjectReport, ...]] | DurableReports | TasksByName:
    """Answers requests that change nothing."""
    match what:
        case ReportsOf():
            return _reports(state, client_id, what)
        case DurableSessions():
            return by_name.report(state, rights.user_of(state, client_id))
        case DurableTasks(name, first):
            full, user = rights.opens(state, client_id, name), rights.user_of(state, client_id)
            return by_name.tasks_of(state, full, first, user)


def _own(state: State, client_id: ClientId, session_id: SessionId) -> Session:
    session = session_for(state, client_id, session_id)
    if session.client.id != client_id:
        raise RefusedError(f"the session {session_id} is closed by the client that has opened it")
    return session


def _open(state: State, client_id: ClientId, asked: OpenSession) -> Session:
    if asked.durable:
        by_name.check(asked)
    client = state.graph.clients[client_id]
    task = _asking_task(state, client_id, asked.parent)
    if state.graph.users and task is None:
        limits.check_sessions(state, client_id)
    name = asked.name
    if asked.durable:
        name = rights.opens(state, client_id, name)
    session = state.graph.add_session(client, name, asked.user, asked.on_failure, task)
    if task is not None:
        state.nested.open(session, task)
    if asked.durable:
        by_name.open_by_name(state, session)
    whose = session.belongs_to
    new = happenings.SessionNew(state.now, session.id, client_id, name, asked.user, whose)
    state.note(new, len(name) + len(asked.user))
    return session


def _asking_task(state: State, client_id: ClientId, parent: TaskId | None) -> Task | None:
    """The running task that the client asks for. From now on the client has the rights of the
    task's user.
    """
    if parent is None:
        return None
    task = nesting.running_task(state, parent)
    rights.asks_for(state, client_id, task)
    return task


def _join(state: State, client_id: ClientId, asked: JoinSession) -> JoinedSession:
    """Lets a client take part in the session of another one."""
    task = _asking_task(state, client_id, asked.parent)
    names = (asked.name, state.durable.full_name(rights.user_of(state, client_id), asked.name))
    found = [
        session
        for session in state.graph.sessions.values()
        if not session.is_left
        and (session.id == asked.session if asked.session else session.name in names)
    ]
    if not asked.session and len(found) > 1:  # those of other users are no question
        found = [session for session in found if rights.sees(state, client_id, session)]
    if len(found) != 1:
        what = str(asked.session) if asked.session else repr(asked.name)
        are = f"{len(found)} open sessions are called" if found else "there is no open session"
        raise RefusedError(f"{are} {what}")
    (session,) = found
    rights.check_sees(state, client_id, session)
    if session.failure is not None:
        raise SessionFailedError(session.failure)
    first = _take_range(session) if asked.numbers else 0
    member = session.join(client_id)
    if task is not None and not member.is_owner:
        member.depth = task.kind.depth + 1
        state.nested.nests = True
    return JoinedSession(session.id, session.name, session.on_failure, first)


def _take_range(session: Session) -> int:
    """The first of some numbers that are unused in the session."""
    first = FIRST_SHARED + session.ranges * SHARED_RANGE
    if first + SHARED_RANGE > FIRST_OF_SERVER:
        raise RefusedError(f"the session {session.id} has no numbers left for those who joined it")
    session.ranges += 1
    return first


def _fetch(state: State, client_id: ClientId, request: RequestId, object_id: ObjectId) -> None:
    data_object = known_object(state, client_id, object_id)
    if data_object.state is ObjectState.REMOVED:
        raise RefusedError(waiting.removed_text(data_object))
    if not data_object.kept:
        raise RefusedError(f"the data object {spell(object_id)} is not kept")
    waiting.add(state, Wait(request, WaitMode.FETCH, data_object.session, (), (data_object,)))


def _cancel_unstarted(
    state: State, client_id: ClientId, asked: CancelUnstarted
) -> tuple[ObjectId, ...]:
    """Cancels the tasks that do not run. Which ones run is decided once, also for the answer."""
    session = _own(state, client_id, asked.session)
    objects = [session.objects.get(object_id) for object_id in asked.objects]
    producers = [one.producer for one in objects if one is not None and one.producer is not None]
    chosen = dict.fromkeys(task for task in unstarted(producers) if task.goes_on)
    failing.cancel_unstarted(state, chosen, failing.CANCELLED)
    return tuple(one.id for one in objects if one is not None and one.producer in chosen)


def _reports(
    state: State, client_id: ClientId, asked: ReportsOf
) -> tuple[tuple[TaskReport, ...], tuple[ObjectReport, ...]]:
    tasks = [known_task(state, client_id, task_id) for task_id in asked.tasks]
    objects = [known_object(state, client_id, object_id) for object_id in asked.objects]
    reports = tuple([_report_task(state, task) for task in tasks])
    if asked.logs:
        texts = map(logs.logs_of, tasks)
        reports = tuple(
            evolve(report, logs=text) for report, text in zip(reports, texts, strict=True)
        )
    return reports, tuple(map(_report_object, objects))


def _report_object(data_object: DataObject) -> ObjectReport:
    """Reports an object with its spec, which clients that have joined the session do not know."""
    kind = data_object.kind
    return evolve(
        waiting.report_object(data_object),
        label=kind.label,
        declared_type=kind.content_type,
        data_type=kind.data_type,
    )


def _debug(task: Task) -> str:
    """The lines that the task has left, or the one because of which it will not run."""
    if task.failure is not None:
        return task.failure.debug
    return "" if task.run is None else task.run.debug


def _report_task(state: State, task: Task) -> TaskReport:
    shadow = state.graph.shadows.get(task)
    return TaskReport(
        id=task.id,
        state=task.state,
        error="" if task.failure is None else task.failure.message,
        debug=_debug(task),
        user=task.user,
        cache=task.session.cached.get(task.id, ""),
        runs=tuple(run.report() for run in task.runs),
        second_run=None if shadow is None or shadow.run is None else shadow.run.report(),
    )
