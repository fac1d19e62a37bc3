"""Step one of a turn: the messages of governors.

News of a run that is not the open one, or of a session that is gone, is recognised by number and
id and ignored. A governor that breaks the protocol is dismissed.
"""

from __future__ import annotations

from sys import intern

from rain.base.copies import CopyMove
from rain.base.errors import ProtocolError
from rain.base.ids import GovernorId, ObjectId, is_of_server, spell
from rain.base.runs import TOLD_BY_GOVERNORS, RunCause
from rain.base.states import TaskRow
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.update import TaskFailure, TaskNote, Update
from rain.graph import Governor, Task, lateness, loss, progress
from rain.graph.copy import move_copy
from rain.server.core import (
    asked_back,
    away,
    draining,
    exchanging,
    failing,
    feasibility,
    finishing,
    handing_back,
    handing_on,
    happenings,
    logs,
    memory,
    nesting,
    reported,
    resuming,
    speculation,
    unfetched,
    waiting,
)
from rain.server.core.messages import (
    DismissGovernor,
    GovernorAway,
    GovernorEvent,
    GovernorJoined,
    GovernorLeft,
    GovernorResumed,
    GovernorUpdated,
    ReleaseGovernor,
    ServerReturned,
    ServerStoodStill,
)
from rain.server.core.state import State


def apply(state: State, event: GovernorEvent) -> None:
    """Applies one event."""
    match event:
        case GovernorUpdated(governor_id, update):
            governor = state.graph.governors.get(governor_id)
            if governor is None:  # it was dismissed, and had not received that yet
                state.ignored += 1
                return
            governor.heard = state.now
            try:
                if (update.number or update.heard) and not resuming.is_new(governor, update):
                    state.ignored += 1  # it has come twice
                    return
                apply_update(state, governor, update)
            except ProtocolError as error:
                dismiss(state, governor, str(error))
            else:
                if update.drains:
                    draining.begin(state, governor)
        case GovernorJoined():
            _joined(state, event)
        case GovernorLeft(governor_id, cause, on_purpose):
            left(state, governor_id, cause, on_purpose=on_purpose)
        case GovernorAway() | GovernorResumed() | ServerReturned() | ServerStoodStill():
            away.apply(state, event)


def _joined(state: State, event: GovernorJoined) -> None:
    governor = state.graph.add_governor(
        event.governor, event.address, event.resources, state.now, event.time_left
    )
    governor.disk = event.disk
    state.news.joined.append(governor)
    state.note(happenings.GovernorNew(state.now, event.address))
    if state.graph.watched:
        lateness.look_soon(state.graph)
    feasibility.governors_changed(state)


def apply_update(state: State, governor: Governor, update: Update) -> None:
    """Applies an update of one governor, in the order in which things happen to a task."""
    if update.located:
        _located(state, governor, update.located)
    ahead = _started(state, governor, update) if update.started_ids else {}
    blocked_ahead: list[Task] = []
    if update.blocked_ids or update.resumed_ids:
        blocked_ahead = nesting.block_and_resume(state, governor, update)
    for task_note in update.task_notes:
        _noted(state, governor, task_note)
    if update.finished.ids:
        # The largest number counts, and fades by a sixteenth with each message.
        governor.pace = max(len(update.finished.ids), governor.pace * 15 // 16)
        finishing.finish(state, governor, update)
    for task, start in ahead.items():
        if task.row is TaskRow.ASSIGNED:
            _start(state, governor, task, start)
    for task in blocked_ahead:
        nesting.block(state, governor, task)
    if update.failed:
        _all_failed(state, governor, update)
    if update.ended_ids or update.returned_ids:
        _ended(state, governor, update)
        asked_back.apply(state, governor, update)
    for object_id in update.unfetched:
        unfetched.apply(state, governor, object_id)
    governor.holds_back, governor.is_full = update.holds_back, update.is_full
    for sample in update.monitoring:
        governor.task_memory = sample.task_memory
        governor.memory_bytes, governor.disk_bytes = sample.memory_bytes, sample.disk_bytes
        governor.closed_ways = sample.closed_ways
        state.transfers = state.transfers.plus(sample.transfers.since(governor.transfers))
        governor.transfers = sample.transfers
        state.note(happenings.Monitoring(state.now, governor.address, sample))


def _noted(state: State, governor: Governor, note: TaskNote) -> None:
    """Notes a message of a task about itself, or one of few sentences of the cache about it."""
    task = state.graph.tasks.get(note.task)
    if task is None or task.assigned is not governor:
        return
    if note.cache:
        task.session.cached[task.id] = intern(note.cache)
    else:
        task.user = note.user
        if task.run is not None:
            task.run.debug = note.debug
        if note.logs:
            logs.keep(task, note.logs)


def left(state: State, governor_id: GovernorId, cause: str, *, on_purpose: bool = False) -> None:
    """A governor is gone: its tasks are planned again, its objects are found or made elsewhere.

    Unless it left on purpose, one of its running tasks may have been the reason.
    """
    governor = state.graph.governors.pop(governor_id, None)
    if governor is None:
        return
    state.graph.ending.pop(governor, None)
    state.forget_governor(governor)
    state.news.left.append(governor)
    state.note(happenings.GovernorRemoved(state.now, governor.address, cause), len(cause))
    unblamed = (TaskRow.AHEAD, TaskRow.CANCELLING)
    sent = [task for task in governor.assigned if task.row not in unblamed]
    running = [task for task in sent if task.row is TaskRow.RUNNING]
    if len(sent) == 1:  # the start of a task is told when it has run for a while: perhaps too late
        running = sent
    blamed = () if on_purpose else running
    failing.lost(state, loss.lose_governor(governor, state.now, cause, blamed))
    for task in blamed:
        if task.is_known and not task.is_done and task not in state.graph.shadowed:
            failing.run_lost(state, task)
    feasibility.governors_changed(state)
    waiting.fetch_again(state)


def let_drained_leave(state: State) -> None:
    """Governors that drain, and that nothing needs any more."""
    for governor in draining.move_on(state):
        left(state, governor.id, draining.OVER, on_purpose=True)
        state.emit(ReleaseGovernor(governor.id))


def dismiss(state: State, governor: Governor, reason: str) -> None:
    """A governor that breaks the protocol is closed and lost."""
    left(state, governor.id, reason)
    state.emit(DismissGovernor(governor.id, reason))


def give_up(state: State, governor: Governor, reason: str) -> None:
    """A governor that is silent for too long is lost. If connections can resume, it may join again.

    It may only be cut off from the network, and would get a "stop" as soon as the network works
    again.
    """
    left(state, governor.id, reason)
    state.emit(DismissGovernor(governor.id, reason, may_join=state.settings.returns))


def _started(state: State, governor: Governor, update: Update) -> dict[Task, float]:
    """Starts; returns those whose inputs are only finished by this very update, and their times."""
    ahead: dict[Task, float] = {}
    starts, ours = update.started_times, 0.0
    if starts:
        ours = governor.clock_difference(update.time, state.now)
    else:
        starts = [state.now] * len(update.started_ids)
    for task_id, number, start in zip(update.started_ids, update.started_runs, starts, strict=True):
        task = reported.task_of_run(state, governor, task_id, number)
        if task is None:
            continue
        if task.row is TaskRow.ASSIGNED:
            _start(state, governor, task, start + ours)
        elif task.row is TaskRow.AHEAD:
            ahead[task] = start + ours
    return ahead


def _start(state: State, governor: Governor, task: Task, start: float) -> None:
    run = task.last_run()
    progress.start(task, min(max(start, run.told), state.now))
    if task.kind.idempotent:
        lateness.started(state.graph, task, state.settings.lateness)
        if is_of_server(task.id):
            return  # the log tells of it in other words
    if state.happenings is not None:
        state.happenings.task_started(run.started, governor, task)


def _failed(state: State, governor: Governor, failure: TaskFailure, printed: str) -> None:
    task = reported.task_of_run(state, governor, failure.task, failure.run)
    if task is None:
        return
    if failure.cause not in TOLD_BY_GOVERNORS:
        raise ProtocolError(f"{spell(task.id)} failed by what only the server can find out")
    if task.row is TaskRow.CANCELLING:
        failing.end_cancelled(state, governor, task)
        return
    if failure.handed_on:
        handing_on.handed_on(state, governor, task, failure, printed)
        return
    if task in state.graph.shadowed:
        speculation.has_failed(state, governor, task, failure)
        return
    if failure.cause is RunCause.NOT_STARTED:
        handing_back.handed_back(state, governor, task, failure)
        return
    if failure.cause is RunCause.DISK:
        handing_back.too_large(state, governor, task, failure)
        return
    if failure.cause is RunCause.INPUT_LOST:
        exchanging.unreadable(state, governor, task, failure)
        return
    if failure.peak:
        memory.note_peak(state, task, failure.peak)
    failing.run_failed(state, governor, task, failure, printed)


def _all_failed(state: State, governor: Governor, update: Update) -> None:
    printed = {note.task: note.logs for note in update.task_notes}
    for failure in update.failed:
        _failed(state, governor, failure, printed.get(failure.task, ""))


def _ended(state: State, governor: Governor, update: Update) -> None:
    """Runs that were cancelled have ended, as far as nothing was told of their ends before."""
    for task_id, number in zip(update.ended_ids, update.ended_runs, strict=True):
        task = reported.task_of_run(state, governor, task_id, number)
        if task is None:
            continue
        if task.row is not TaskRow.CANCELLING:
            raise ProtocolError(f"{spell(task_id)} has ended as cancelled, but is {task.row.value}")
        failing.end_cancelled(state, governor, task)


def _located(state: State, governor: Governor, object_ids: list[ObjectId]) -> None:
    """Copies have arrived."""
    known, arrived = state.graph.objects, state.news.located
    for object_id in object_ids:
        data_object = known.get(object_id)
        copy = None if data_object is None else governor.objects.get(data_object)
        if data_object is None or copy is None or not copy.is_known:
            state.ignored += 1  # dropped, removed or made anew while the copy was on its way
            continue
        producer = data_object.producer
        if producer is not None and producer.assigned is governor and not producer.is_done:
            state.ignored += 1  # made anew right there: it is the end of that which counts
            continue
        if not copy.is_held:
            move_copy(data_object, governor, CopyMove.ARRIVE)
        if data_object.size > INLINE_LIMIT:
            state.estimates.arrived(governor, data_object, state.now)
        if copy.tries or state.fetches.remade:
            state.fetches.is_over(copy)
        arrived.append((data_object, governor))
