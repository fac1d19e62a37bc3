"""Keeps the waits and fetches of clients, and answers them when their nodes are done.

A wait is attached to every task and object that is not done yet; each one that gets done is taken
off. An answer also brings the small kept results of its session that were finished since the last
answer, so that fetching them costs no further round trip.
"""

from __future__ import annotations

from rain.base.failures import SessionFailure
from rain.base.ids import spell
from rain.base.states import ObjectState
from rain.base.wire.answers import Delivery, Fetched, ObjectReport, WaitAnswer
from rain.graph import DataObject, Session, Task, Wait, WaitMode
from rain.graph.failing import failure_of, was_cancelled
from rain.graph.task import DONE
from rain.server.core.messages import Answered, Refuse
from rain.server.core.state import State


def add(state: State, wait: Wait) -> None:
    """Answers a new wait if it is over already, else keeps it."""
    if wait.mode is WaitMode.SESSION:
        _add_idle(state, wait)
        return
    some = wait.mode is WaitMode.SOME  # then one that is done is enough, however it has ended
    pending: list[Task | DataObject] = []
    for task in wait.tasks:
        if task.row not in DONE:
            pending.append(task)
        elif task.failure is not None and not some:
            _answer_with_failure(state, wait, task.failure)
            return
    for data_object in wait.objects:
        stands = data_object.state
        if stands is ObjectState.UNFINISHED:
            pending.append(data_object)
        elif stands is ObjectState.FAILED and not some:
            _answer_with_failure(state, wait, failure_of(data_object))
            return
    if not pending or (some and len(pending) < len(wait.tasks) + len(wait.objects)):
        _answer(state, wait)
        return
    keep(state, wait, 1 if some else len(pending))
    for node in pending:
        node.waits = [*node.waits, wait] if node.waits else [wait]


def keep(state: State, wait: Wait, remaining: int) -> None:
    """From now on the wait is there, until this many things have happened."""
    wait.remaining = remaining
    state.waits[wait.request] = wait
    wait.session.waits[wait] = None


def drop(state: State, wait: Wait) -> None:
    """The wait is not there any more."""
    del state.waits[wait.request]
    del wait.session.waits[wait]


def _add_idle(state: State, wait: Wait) -> None:
    """Adds a wait for all tasks of a session."""
    session = wait.session
    if session.unfinished:
        keep(state, wait, 1)
        session.idle_waits.append(wait)
    elif session.untold is not None:
        _answer_with_failure(state, wait, session.untold)
    else:
        _answer(state, wait)


def done(state: State, node: Task | DataObject) -> None:
    """A task or an object is done: answers the waits that are over."""
    waits, node.waits = node.waits, None
    for wait in waits or ():
        wait.remaining -= 1
        if wait.remaining:
            continue
        if wait.mode is WaitMode.SOME:
            _remove(state, wait)
        else:  # it hangs on nothing any more
            drop(state, wait)
        add(state, wait)  # what it named may be lost again meanwhile, and is waited for again


def failed(state: State, node: Task | DataObject, failure: SessionFailure) -> None:
    """A task or an object has failed: answers the waits for it with the failure."""
    for wait in list(node.waits or ()):
        if wait.mode is WaitMode.SOME:
            wait.remaining = 0
            _remove(state, wait)
            _answer(state, wait)
        else:
            _remove(state, wait)
            _answer_with_failure(state, wait, failure)


def _answer_with_failure(state: State, wait: Wait, failure: SessionFailure) -> None:
    """The answer to a wait in a session that goes on, for which something has failed."""
    state.emit(Refuse(wait.request, failure))
    session = wait.session
    if failure is session.untold and not session.idle_waits:
        session.untold = None


def idle(state: State, session: Session) -> None:
    """The last unfinished task of a session is done."""
    waits, session.idle_waits = session.idle_waits, []
    failure = session.untold
    for wait in waits:
        _remove(state, wait)
        if failure is not None:
            _answer_with_failure(state, wait, failure)
        else:
            _answer(state, wait)


def abandon(state: State, wait: Wait) -> None:
    """The answer is no longer wanted."""
    _remove(state, wait)
    for those in (wait.session.idle_waits, wait.session.followers):
        if wait in those:
            those.remove(wait)


def end(state: State, wait: Wait, failure: SessionFailure) -> None:
    """It ends with a failure of its session."""
    abandon(state, wait)
    state.emit(Refuse(wait.request, failure))


def fail_all(state: State, session: Session, failure: SessionFailure) -> None:
    """The session has failed: all its waits end with that."""
    for wait in list(session.waits):
        _remove(state, wait)
        state.emit(Refuse(wait.request, failure))
    session.idle_waits, session.followers = [], []


def report_object(data_object: DataObject) -> ObjectReport:
    """How an object stands, as users see it."""
    return ObjectReport(
        id=data_object.id,
        state=data_object.state,
        size=data_object.size,
        content_type=data_object.content_type,
        user=data_object.user,
    )


def _remove(state: State, wait: Wait) -> None:
    """Takes a wait off everything that it still hangs on."""
    drop(state, wait)
    nodes: tuple[Task | DataObject, ...] = (*wait.tasks, *wait.objects)
    for node in nodes:
        if node.waits and wait in node.waits:
            node.waits = [other for other in node.waits if other is not wait] or None


def _answer(state: State, wait: Wait) -> None:
    if wait.mode is WaitMode.FETCH:
        _answer_fetch(state, wait)
        return
    session = wait.session
    answer = WaitAnswer()
    for data_object in wait.objects:
        if data_object.state is not ObjectState.UNFINISHED:
            answer.objects.append(data_object.id)
    if wait.tasks:
        answer.tasks = [task.id for task in wait.tasks if task.row in DONE]
    if session.undelivered and wait.by_owner:
        deliver(session, state.settings.delivery_limit, answer.delivery)
    if session.first_failed is not None:
        nodes: tuple[Task | DataObject, ...] = (*wait.tasks, *wait.objects)
        answer.failed = [node.id for node in nodes if node.has_failed]
        answer.cancelled = [node.id for node in nodes if was_cancelled(node)]
        if wait.mode is WaitMode.SESSION:  # else all its tasks would count as finished
            answer.failed = [session.first_failed.task or 0]
    state.emit(Answered(wait.request, answer))


def deliver_later(data_object: DataObject) -> None:
    """The next answer to the owner of the session takes a small result along, if it wants that.

    A delivery has no room for notes of users, and no other client gets any.
    """
    handles = data_object.handles
    if handles.wants_data and not data_object.user:
        session = data_object.session
        owner = session.owner
        if handles is owner.keeping or handles.wanted_by(owner.client):
            session.undelivered[data_object] = None


def deliver(session: Session, limit: int, delivery: Delivery) -> None:
    """Adds small kept results that were not delivered before, up to a limit of bytes."""
    volume = 0
    for data_object in list(session.undelivered):
        assert data_object.data is not None  # only small results at hand are undelivered
        volume += data_object.size
        if volume > limit:
            break
        del session.undelivered[data_object]
        delivery.ids.append(data_object.id)
        delivery.sizes.append(data_object.size)
        delivery.content_types.append(data_object.content_type)
        delivery.data.append(data_object.data)


def fetch_again(state: State) -> None:
    """Governors have come back, or will not: fetches that waited for that have another look."""
    for wait in list(state.waits.values()):
        if wait.mode is WaitMode.FETCH and wait not in (wait.objects[0].waits or ()):
            _remove(state, wait)
            add(state, wait)


def _answer_fetch(state: State, wait: Wait) -> None:
    """Names a holder that can be reached; if all are away, the fetch waits until one is back."""
    (data_object,) = wait.objects
    if data_object.state is ObjectState.REMOVED:
        state.refuse(wait.request, removed_text(data_object))
        return
    report = report_object(data_object)
    if data_object.data is not None:
        fetched = Fetched(report, data=data_object.data)
    elif data_object.spooled:
        fetched = Fetched(report)  # the server itself has it
    else:
        holder = next((found for found in data_object.located if found.away is None), None)
        if holder is None:
            keep(state, wait, 1)
            return
        fetched = Fetched(report, holder=holder.source)
    state.emit(Answered(wait.request, fetched))


def removed_text(data_object: DataObject) -> str:
    """Why the bytes of an object cannot be had."""
    return (
        f"the data object {spell(data_object.id)} was removed: it was not kept, and no task needs"
        " it any more"
    )
