"""Step two of a turn: the requests of clients.

Every request gets exactly one answer: at once, or when its wait is over. A request that names what
does not exist, or belongs to another client, is refused with one line and changes nothing.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.errors import RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ClientId, ObjectId, RequestId, TaskId
from rain.base.wire.requests import (
    Cancel,
    HandlesGone,
    ServerInfo,
    Settled,
    Statement,
    Submit,
    WaitFor,
)
from rain.graph import DataObject, Session, Task, Wait, WaitMode
from rain.graph.wait import WAIT_MODES
from rain.server.core import (
    adopting,
    by_name,
    failing,
    feasibility,
    following,
    granting,
    handles,
    happenings,
    nesting,
    quotas,
    rights,
    submitting,
    waiting,
)
from rain.server.core.closing import close_session
from rain.server.core.messages import (
    AnyAnswer,
    Asked,
    ClientAway,
    ClientEvent,
    ClientGivenUp,
    ClientJoined,
    ClientLeft,
    ClientResumed,
    Granted,
    Refuse,
    RequestAbandoned,
    Said,
    UsersRead,
)
from rain.server.core.sessions import known_object, known_task, living_session
from rain.server.core.state import State


def apply(state: State, event: ClientEvent) -> None:
    """Applies one event. If a submission of its client is not read completely yet, the event
    waits.
    """
    if state.growing and not isinstance(event, ClientLeft | ClientAway | ClientResumed | UsersRead):
        growing = state.growing.get(event.client)
        if growing is not None and not _is_of_governors(event):
            growing.held.append(event)
            return
    match event:  # the most frequent first
        case Asked():
            known = state.asked.note(event) if event.number else None
            try:
                if known is None:
                    _ask(state, event)
                else:
                    _ask_again(state, event, known)
            except (RefusedError, SessionFailedError) as error:
                _refuse(state, event, error)
        case Said():
            if state.asked.note(event) is None:
                _hear(state, event.client, event.what)
            if event.request is not None:
                state.emit(Granted(event.request))
        case RequestAbandoned(_, request):
            _abandon(state, request)
        case _:
            _come_or_go(state, event)


def _come_or_go(
    state: State, event: ClientJoined | ClientLeft | ClientAway | ClientResumed | UsersRead
) -> None:
    match event:
        case ClientJoined(client, token, user):
            state.graph.add_client(client, user)
            if token:
                state.asked.joined(client, token)
            state.note(happenings.ClientNew(state.now, client))
        case ClientLeft(client, cause):
            _left(state, client, cause)
        case ClientAway(client, cause):
            state.asked.away(client, state.now + state.settings.client_grace, cause)
        case ClientResumed(client):
            state.asked.resumed(client)
        case UsersRead(rules):
            state.graph.users = {rule.name: rule for rule in rules}
            quotas.rules_changed(state)
            _dismiss_locked(state)


def _dismiss_locked(state: State) -> None:
    """Clients of locked users have left: they could not come back, so nothing waits for that."""
    for client in list(state.graph.clients):
        why = rights.why_not_any_more(state, client)
        if why:
            state.emit(ClientGivenUp(client, why))
            apply(state, ClientLeft(client, why))


def give_up_late(state: State) -> None:
    """Clients that were away and have not come back in time have left."""
    for client, why in state.asked.take_late(state.now):
        grace = state.settings.client_grace
        cause = f"it has not come back within {grace:g} seconds: {why}"
        state.emit(ClientGivenUp(client, cause))
        apply(state, ClientLeft(client, cause))


def _hear(state: State, client: ClientId, what: Statement | Settled) -> None:
    match what:
        case HandlesGone():
            handles.gone(state, client, what)
        case Cancel():
            _cancel(state, client, what)
        case Settled(numbers):
            state.asked.settled(client, numbers)


def _ask_again(state: State, event: Asked, known: RequestId | AnyAnswer) -> None:
    """The client has lost the connection before it had the answer to this."""
    if not isinstance(known, int):
        state.emit(evolve(known, request=event.request))
        return
    _abandon(state, known)
    if isinstance(event.what, Submit):
        _answer_submission(state, event, event.what)
    else:
        _ask(state, event)


def _abandon(state: State, request: RequestId) -> None:
    wait = state.waits.get(request)
    if wait is not None:
        waiting.abandon(state, wait)


def _is_of_governors(event: ClientEvent) -> bool:
    """It has nothing to do with what its client submits."""
    return isinstance(event, Asked) and isinstance(event.what, ServerInfo)


def _ask(state: State, event: Asked) -> None:
    match event.what:  # the most frequent first
        case Submit() as submit:
            if submit.wanted:
                _check_wanted(state, event.client, submit)
            if submitting.submit(state, event, submit):
                _answer_submission(state, event, submit)
        case WaitFor() as wait:
            session = living_session(state, event.client, wait.session)
            mode = WAIT_MODES[wait.mode]
            if mode in following.MODES:
                following.add(state, event, session, mode, wait.since)
            else:
                _wait(state, event, session, wait.tasks, wait.objects, mode)
        case _:
            granting.grant(state, event.client, event.request, event.what)


def _left(state: State, client_id: ClientId, cause: str) -> None:
    submitting.give_up(state, client_id)
    client = state.graph.clients[client_id]
    for session in list(client.sessions.values()):
        if session in state.nested.set_free:
            waiting.fail_all(state, session, SessionFailure("the client has gone"))
        else:
            adopting.hold(state, session)
            close_session(state, session, f"the client has gone: {cause}")
    if client.promise is not None:
        client.promise = None
        feasibility.governors_changed(state)
    handles.leave(state, client_id)
    state.asked.left(client_id)
    nesting.client_left(state, client)
    state.note(happenings.ClientRemoved(state.now, client_id, cause), len(cause))


def _cancel(state: State, client_id: ClientId, cancel: Cancel) -> None:
    """The client that has opened a session may cancel everything in it, other clients only objects
    that they have handles of. Unknown ids were never submitted.
    """
    session = state.graph.sessions.get(cancel.session)
    if session is None or session.failure is not None:
        return
    is_owner = session.client.id == client_id
    if not is_owner and (cancel.whole or not _has_all(session, client_id, cancel)):
        return
    if not cancel.always and any(wait.mode not in following.MODES for wait in session.waits):
        return
    why = failing.CANCELLED if cancel.always else failing.INTERRUPTED
    if cancel.whole:
        _cancel_these(state, cancel, session.own_tasks, why)
        return
    tasks = [session.tasks.get(task_id) for task_id in cancel.tasks]
    for object_id in cancel.objects:
        data_object = session.objects.get(object_id)
        tasks.append(None if data_object is None else data_object.producer)
    _cancel_these(state, cancel, [task for task in tasks if task is not None], why)


def _cancel_these(state: State, cancel: Cancel, tasks: list[Task], why: str) -> None:
    if state.durable.by_name:
        tasks = [task for task in tasks if not by_name.is_wanted_elsewhere(task)]
    cancelled = failing.cancel(state, tasks, why, cancel.grace)
    if not cancel.recursive:
        state.nested.let_go_on(cancelled)


def _has_all(session: Session, client_id: ClientId, cancel: Cancel) -> bool:
    """Whether the client was given all of these, of a session of another one that goes on."""
    objects = [session.objects.get(object_id) for object_id in cancel.objects]
    has = [one is not None and one.handles.wanted_by(client_id) for one in objects]
    return session.goes_on and not cancel.tasks and all(has)


def read_on(state: State) -> None:
    """Reads one more part of the oldest submission; when it is complete, handles the requests that
    wait behind it.
    """
    growing = next(iter(state.growing.values()), None)
    if growing is None:
        return
    try:
        done = submitting.read_part(state, growing)
        if done:
            _answer_submission(state, growing.event, growing.submit)
    except (RefusedError, SessionFailedError) as error:
        _refuse(state, growing.event, error)
        done = True
    if done:
        growing.parts.close()
        del state.growing[growing.event.client]
        for event in growing.held:
            apply(state, event)


def _refuse(state: State, event: Asked, error: RefusedError | SessionFailedError) -> None:
    if isinstance(error, SessionFailedError):
        state.emit(Refuse(event.request, error.failure))
        return
    state.refuse(event.request, str(error))
    if state.happenings is not None:
        state.happenings.refused(state.now, event.client, str(error))


def _check_wanted(state: State, client_id: ClientId, submit: Submit) -> None:
    """Refuses a submission that waits for objects which are not there, and do not come with it."""
    submission = submit.submission
    session = living_session(state, client_id, submission.session)
    unknown = [wanted for wanted in submit.wanted if wanted not in session.objects]
    if len(unknown) > 1:
        unknown = list({*unknown}.difference(submission.tasks.outputs, submission.constants.ids))
    for wanted in sorted(unknown):
        if wanted not in submission.tasks.outputs and wanted not in submission.constants.ids:
            known_object(state, client_id, wanted)


def _answer_submission(state: State, event: Asked, submit: Submit) -> None:
    """Answers an accepted submission: at once, or when the objects that its client waits for are
    done.
    """
    if submit.wanted:
        session = state.graph.sessions[submit.submission.session]
        _wait(state, event, session, (), submit.wanted, WaitMode.ALL)
    else:
        state.emit(Granted(event.request))


def _wait(
    state: State,
    event: Asked,
    session: Session,
    task_ids: tuple[TaskId, ...],
    object_ids: tuple[ObjectId, ...],
    mode: WaitMode,
) -> None:
    """Adds a wait for all this, in a session that lives."""
    client_id = event.client
    tasks: dict[Task, None] = {}
    objects: dict[DataObject, None] = {}
    # Nearly all items belong to the named session, which was checked already.
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
