"""Step two of a turn: what clients asked.

Every request gets exactly one answer: at once, or when its wait is over. A request that names what
does not exist, or belongs to somebody else, is refused with one line and changes nothing.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.ids import (
    FIRST_SHARED,
    LAST_SHARED,
    SHARED_RANGE,
    ClientId,
    ObjectId,
    SessionId,
    TaskId,
    spell,
)
from rain.base.states import ObjectState
from rain.base.wire import JoinedSession, ObjectReport, TaskReport
from rain.graph import DataObject, Session, Task, Wait, WaitMode
from rain.graph.cancelling import unstarted
from rain.graph.wait import WAIT_MODES
from rain.server import (
    failing,
    following,
    handles,
    happenings,
    logs,
    nesting,
    submitting,
    waiting,
)
from rain.server.messages import (
    AnswerCancelled,
    AnswerDone,
    AnswerJoined,
    AnswerSession,
    AnswerStates,
    AnswerTaken,
    Cancelled,
    ClientEvent,
    ClientJoined,
    ClientLeft,
    FetchAsked,
    GatherReports,
    HandlesGone,
    HandlesTaken,
    Refuse,
    ReportsAsked,
    Request,
    RequestAbandoned,
    SessionClosed,
    SessionJoined,
    SessionOpened,
    StatesAsked,
    Submitted,
    Unkept,
    UnstartedCancelled,
    WaitAsked,
)
from rain.server.sessions import (
    close_session,
    known_object,
    known_task,
    living_session,
    session_for,
)
from rain.server.state import State


def apply(state: State, event: ClientEvent) -> None:
    """Applies one event, unless its client has submitted what is not read yet: then it waits."""
    if state.growing and not isinstance(event, ClientLeft | ReportsAsked):
        growing = state.growing.get(event.client)
        if growing is not None:
            growing.held.append(event)
            return
    try:
        match event:  # the most frequent first
            case Submitted():
                if event.wanted:
                    _check_wanted(state, event)
                if submitting.submit(state, event):
                    _answer_submission(state, event)
            case WaitAsked():
                session = living_session(state, event.client, event.session)
                mode = WAIT_MODES[event.mode]
                if mode in following.MODES:
                    following.add(state, event, session, mode)
                else:
                    _wait(state, event, session, event.tasks, event.objects, mode)
            case HandlesGone():
                handles.gone(state, event)
            case ClientJoined() | ClientLeft() | RequestAbandoned() | ReportsAsked() | Cancelled():
                _note(state, event)
            case _:
                _grant(state, event)
    except (RefusedError, SessionFailedError) as error:
        # These ask for nothing.
        assert not isinstance(event, ClientJoined | ClientLeft | Cancelled | HandlesGone)
        _refuse(state, event, error)


def _note(
    state: State,
    event: ClientJoined | ClientLeft | RequestAbandoned | ReportsAsked | Cancelled,
) -> None:
    """What is never refused."""
    match event:
        case ClientJoined(client_id):
            state.graph.add_client(client_id)
            state.note(happenings.ClientNew(state.now, client_id))
        case ClientLeft(client_id, cause):
            submitting.give_up(state, client_id)
            client = state.graph.clients[client_id]
            for session in list(client.sessions.values()):
                close_session(state, session, f"the client has gone: {cause}")
            handles.leave(state, client_id)
            del state.graph.clients[client_id]
            state.note(happenings.ClientRemoved(state.now, client_id, cause), len(cause))
        case RequestAbandoned(_, request):
            wait = state.waits.get(request)
            if wait is not None:
                waiting.abandon(state, wait)
        case Cancelled():
            _cancel(state, event)
        case ReportsAsked(_, request):
            state.give_all()  # so that nobody sees what is about to go
            state.emit(GatherReports(request))


def _cancel(state: State, event: Cancelled) -> None:
    """Only who has opened a session may; what is not known was never submitted."""
    session = state.graph.sessions.get(event.session)
    if session is None or session.client.id != event.client or session.failure is not None:
        return
    if not event.always and any(wait.mode not in following.MODES for wait in session.waits):
        return
    why = failing.CANCELLED if event.always else failing.INTERRUPTED
    if event.whole:
        failing.cancel(state, session.tasks.values(), why)
        return
    tasks = [session.tasks.get(task_id) for task_id in event.tasks]
    for object_id in event.objects:
        data_object = session.objects.get(object_id)
        tasks.append(None if data_object is None else data_object.producer)
    failing.cancel(state, [task for task in tasks if task is not None], why)


def _cancel_unstarted(state: State, event: UnstartedCancelled) -> AnswerCancelled:
    """What runs is left alone. What that is, is decided here once, also for the answer."""
    session = _own(state, event.client, event.session)
    objects = [session.objects.get(object_id) for object_id in event.objects]
    producers = [one.producer for one in objects if one is not None and one.producer is not None]
    chosen = dict.fromkeys(task for task in unstarted(producers) if task.goes_on)
    failing.cancel_unstarted(state, chosen, failing.CANCELLED)
    cancelled = [one.id for one in objects if one is not None and one.producer in chosen]
    return AnswerCancelled(event.request, tuple(cancelled))


def go_on(state: State) -> None:
    """Reads one more part of the submission that came first; then comes what waits behind it."""
    growing = next(iter(state.growing.values()), None)
    if growing is None:
        return
    try:
        done = submitting.read_part(state, growing)
        if done:
            _answer_submission(state, growing.event)
    except (RefusedError, SessionFailedError) as error:
        _refuse(state, growing.event, error)
        done = True
    if done:
        growing.parts.close()
        del state.growing[growing.event.client]
        for event in growing.held:
            apply(state, event)


def _refuse(
    state: State,
    event: Request | ReportsAsked | RequestAbandoned,
    error: RefusedError | SessionFailedError,
) -> None:
    if isinstance(error, SessionFailedError):
        state.emit(Refuse(event.request, error.failure))
        return
    state.refuse(event.request, str(error))
    if state.happenings is not None:
        state.happenings.refused(state.now, event.client, str(error))


def _grant(
    state: State,
    event: SessionOpened
    | SessionJoined
    | SessionClosed
    | Unkept
    | HandlesTaken
    | FetchAsked
    | StatesAsked
    | UnstartedCancelled,
) -> None:
    match event:
        case SessionOpened(client_id, request, name, user, on_failure, parent):
            client = state.graph.clients[client_id]
            task = None if parent is None else nesting.running_task(state, parent)
            session = state.graph.add_session(client, name, user, on_failure, task)
            if task is not None:
                nesting.note(state, session, task)
            state.emit(AnswerSession(request, session.id))
            new = happenings.SessionNew(state.now, session.id, client_id, name, user)
            state.note(new, len(name) + len(user))
        case SessionJoined():
            state.emit(AnswerJoined(event.request, _join(state, event)))
        case SessionClosed(client_id, request, session_id):
            close_session(state, _own(state, client_id, session_id))
            state.emit(AnswerDone(request))
        case Unkept(client_id, request, object_ids):
            handles.unkeep(state, client_id, object_ids)
            state.emit(AnswerDone(request))
        case HandlesTaken():
            taken = handles.take(state, event)
            state.emit(AnswerTaken(event.request, tuple(map(_report_object, taken))))
        case FetchAsked(client_id, request, object_id):
            data_object = known_object(state, client_id, object_id)
            if data_object.state is ObjectState.REMOVED:
                raise RefusedError(waiting.removed_text(data_object))
            if not data_object.kept:
                raise RefusedError(f"the data object {spell(object_id)} is not kept")
            session = data_object.session
            waiting.add(state, Wait(request, WaitMode.FETCH, session, (), (data_object,)))
        case StatesAsked():
            state.emit(_states(state, event))
        case UnstartedCancelled():
            state.emit(_cancel_unstarted(state, event))


def _check_wanted(state: State, event: Submitted) -> None:
    """What is waited for must be there, or come with the submission, which else is refused."""
    submission = event.submission
    session = living_session(state, event.client, submission.session)
    unknown = [wanted for wanted in event.wanted if wanted not in session.objects]
    if len(unknown) > 1:
        unknown = list({*unknown}.difference(submission.tasks.outputs, submission.constants.ids))
    for wanted in sorted(unknown):
        if wanted not in submission.tasks.outputs and wanted not in submission.constants.ids:
            known_object(state, event.client, wanted)


def _answer_submission(state: State, event: Submitted) -> None:
    """It is granted: that is all, or its client waits for what comes of it."""
    if event.wanted:
        session = state.graph.sessions[event.submission.session]
        _wait(state, event, session, (), event.wanted, WaitMode.ALL)
    else:
        state.emit(AnswerDone(event.request))


def _own(state: State, client_id: ClientId, session_id: SessionId) -> Session:
    session = session_for(state, client_id, session_id)
    if session.client.id != client_id:
        raise RefusedError(f"the session {session_id} is closed by the client that has opened it")
    return session


def _join(state: State, event: SessionJoined) -> JoinedSession:
    """Lets a client take part in the session of another one."""
    found = [
        session
        for session in state.graph.sessions.values()
        if (session.id == event.session if event.session else session.name == event.name)
    ]
    if len(found) != 1:
        what = str(event.session) if event.session else repr(event.name)
        are = f"{len(found)} open sessions are called" if found else "there is no open session"
        raise RefusedError(f"{are} {what}")
    (session,) = found
    if session.failure is not None:
        raise SessionFailedError(session.failure)
    first = _take_range(session) if event.numbers else 0
    session.join(event.client)
    return JoinedSession(session.id, session.name, session.on_failure, first)


def _take_range(session: Session) -> int:
    """The first of some numbers that nobody else in the session has."""
    first = FIRST_SHARED + session.ranges * SHARED_RANGE
    if first + SHARED_RANGE > LAST_SHARED:
        raise RefusedError(f"the session {session.id} has no numbers left for those who joined it")
    session.ranges += 1
    return first


def _wait(
    state: State,
    event: Submitted | WaitAsked,
    session: Session,
    task_ids: tuple[TaskId, ...],
    object_ids: tuple[ObjectId, ...],
    mode: WaitMode,
) -> None:
    """Somebody waits for all this, in a session that lives."""
    client_id = event.client
    tasks: dict[Task, None] = {}
    objects: dict[DataObject, None] = {}
    # Nearly all that is named is of the session that is named, which was looked at.
    for task_id in task_ids:
        task = session.tasks.get(task_id)
        if task is None:
            task = known_task(state, client_id, task_id)
        tasks[task] = None
    for object_id in object_ids:
        data_object = session.objects.get(object_id)
        if data_object is None:
            data_object = known_object(state, client_id, object_id)
        objects[data_object] = None
    by_owner = session.client.id == client_id
    wait = Wait(event.request, mode, session, tuple(tasks), tuple(objects), by_owner=by_owner)
    waiting.add(state, wait)


def _states(state: State, asked: StatesAsked) -> AnswerStates:
    tasks = [known_task(state, asked.client, task_id) for task_id in asked.tasks]
    objects = [known_object(state, asked.client, object_id) for object_id in asked.objects]
    reports = tuple(map(_report_task, tasks))
    if asked.logs:
        texts = map(logs.logs_of, tasks)
        reports = tuple(
            evolve(report, logs=text) for report, text in zip(reports, texts, strict=True)
        )
    return AnswerStates(asked.request, reports, tuple(map(_report_object, objects)))


def _report_object(data_object: DataObject) -> ObjectReport:
    """With what was asked for, which those do not know who have joined the session."""
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


def _report_task(task: Task) -> TaskReport:
    return TaskReport(
        id=task.id,
        state=task.state,
        error="" if task.failure is None else task.failure.message,
        debug=_debug(task),
        user=task.user,
        runs=tuple(run.report() for run in task.runs),
    )
