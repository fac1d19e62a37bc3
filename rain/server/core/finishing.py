"""Finished tasks and their outputs, in columns as governors report them.

A message may report a hundred tasks, so whatever can be done for all of them at once is done at
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from attrs import frozen

from rain.base.caching import TAKEN
from rain.base.copies import CopyMove
from rain.base.errors import ProtocolError
from rain.base.ids import NUMBER_BITS, ObjectId, SessionId, TaskId, is_of_server, spell
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.update import ObjectNote, Update
from rain.graph import claims, lateness, progress, references
from rain.graph.copy import move_copy
from rain.graph.data_object import DataObject
from rain.graph.exchanges import is_exchange
from rain.graph.governor import Governor
from rain.graph.handles import NOBODY
from rain.graph.run import Run
from rain.graph.session import Session
from rain.graph.standing_in import stands_in
from rain.graph.task import Task
from rain.server.core import (
    blaming,
    exchanging,
    failing,
    following,
    memory,
    reported,
    speculation,
    waiting,
)
from rain.server.core.state import State

_NOT_AT_WORK = (TaskRow.AHEAD, TaskRow.ASKED, TaskRow.BLOCKED, TaskRow.CANCELLING)


@frozen
class _Batch:
    """Tasks that have finished, of which none reads the output of another one."""

    tasks: dict[Task, float]  # and how many seconds each took
    began: list[float]  # when each did, in our time; 0 where that is not told
    sizes: list[int]  # of all that they made
    data: list[bytes]
    notes: dict[ObjectId, ObjectNote] | None


def finish(state: State, governor: Governor, update: Update) -> None:
    """Applies all finished tasks of an update, in batches."""
    finished, sessions = update.finished, state.graph.sessions
    if any(finished.peaks):
        memory.note_peaks(state, governor, finished)
    known: dict[TaskId, Task] = {}  # those of one session
    sizes, data = finished.sizes, finished.data
    notes = {note.object: note for note in update.object_notes} if update.object_notes else None
    tasks: dict[Task, float] = {}
    began: list[float] = []
    start = end = 0  # of what they made
    starts: Iterable[float] = finished.starts or repeat(0.0, len(finished.ids))
    ours = governor.clock_difference(update.time, state.now) if finished.starts else 0.0
    for task_id, number, seconds, count, its_start in zip(
        finished.ids,
        finished.runs,
        finished.durations,
        finished.output_counts,
        starts,
        strict=True,
    ):
        task = known.get(task_id)
        if task is None:  # as at the first one, and at one of another session
            session = sessions.get(SessionId(task_id >> NUMBER_BITS))
            if session is not None:
                known = session.tasks
                task = known.get(task_id)
        if task is None or task in tasks or not _is_at_work(task, governor, number, count):
            # Seldom: the end of those before it may change how it stands.
            batch = _Batch(tasks, began, sizes[start:end], data[start:end], notes)
            _finish_batch(state, governor, batch)
            tasks, began, start = {}, [], end
            task = _as_it_stands(state, governor, task_id, number, count)
            if task is None:
                start = end = end + count
                continue
        tasks[task] = seconds
        began.append(its_start and its_start + ours)
        end += count
    batch = _Batch(tasks, began, sizes[start:end], data[start:end], notes)
    _finish_batch(state, governor, batch)


def _is_at_work(task: Task, governor: Governor, number: int, outputs: int) -> bool:
    """Whether this run of the task is the open one there, and may have finished."""
    run = task.run
    return (
        task.assigned is governor
        and run is not None
        and run.number == number
        and task.row not in _NOT_AT_WORK
        and len(task.outputs) == outputs
    )


def _as_it_stands(
    state: State, governor: Governor, task_id: TaskId, number: int, outputs: int
) -> Task | None:
    """The task of a run that has finished; None if that does not count.

    With the stop of a run its governor was told to drop the outputs.
    """
    task = reported.task_of_run(state, governor, task_id, number)
    if task is None:
        return None
    if task.row is TaskRow.CANCELLING:  # it was faster, but that does not count
        failing.end_cancelled(state, governor, task)
        return None
    if task.row is TaskRow.BLOCKED:
        progress.resume(task, governor)  # an old report was repeated
    if task.row is TaskRow.AHEAD or len(task.outputs) != outputs:
        raise ProtocolError(_contradiction(task, outputs))
    return task


def learn(state: State) -> None:
    """How long tasks of these names take, and how much they make. Neighbours in the list often have
    the same name. Only the scheduler needs the averages, so they are updated after waiting clients
    have their answers.
    """
    lessons, state.lessons = state.lessons, []
    for lesson in lessons:
        _leave_out_cached(lesson)
        tasks, seconds = list(lesson), list(lesson.values())
        start = 0
        for end in range(1, len(tasks) + 1):
            kind = tasks[start].kind
            if end == len(tasks) or tasks[end].kind is not kind:
                session = tasks[start].session
                sizes = [made.size for task in tasks[start:end] for made in task.outputs]
                state.usage.note(
                    state.graph, session, kind, seconds[start:end], sum(sizes), state.now
                )
                learned = session.learned.get(kind.id)
                if learned is not None:  # else its session has ended meanwhile
                    state.estimates.finished(learned, seconds[start:end], sizes)
                start = end


def _leave_out_cached(lesson: dict[Task, float]) -> None:
    """Results from a cache say nothing about how long such tasks run."""
    for task in list(lesson):
        cached = task.session.cached
        if cached and cached.get(task.id) == TAKEN:
            del lesson[task]


def _contradiction(task: Task, outputs: int) -> str:
    if len(task.outputs) != outputs:
        has = len(task.outputs)
        return f"{spell(task.id)} finished with {outputs} outputs, it has {has}"
    return f"{spell(task.id)} finished before its inputs"


def _finish_batch(state: State, governor: Governor, batch: _Batch) -> None:
    """The tasks first, then what they made, then what they have read, then the waits."""
    tasks, data, notes = batch.tasks, batch.data, batch.notes
    if not tasks:
        return
    progress.finish(tasks, governor)
    outputs, readers, waited, second = _note_ends(state, governor, batch)
    blaming.finished(state, governor, tasks)
    state.news.finished += tasks
    state.lessons.append(tasks)
    if state.graph.speculates:
        lateness.finished(state.graph, tasks, state.settings.lateness)
    if notes is not None:
        _take_notes(outputs, notes)
    free = _take_contents(state, outputs, notes)
    free += _pass_on(tasks) if state.nested.nests else ()
    if state.graph.has_exchanges:
        free += exchanging.lists_made(outputs, data)
    _finish_outputs(state, governor, outputs, batch.sizes, data)
    free += claims.finished_reading(readers)
    if free:
        state.release_soon(free)
    if second:
        waited += speculation.have_finished(state, second)
    if len(governor.scheduled) > len(governor.assigned):  # it was not told of all of them
        state.touched[governor] = None
    if waited:
        _end_waits(state, waited)


def _note_ends(
    state: State, governor: Governor, batch: _Batch
) -> tuple[list[DataObject], list[Task], list[Task], list[Task]]:
    """When they ran. Returns what they have made, and those of them that have read something, for
    which somebody may wait, and that were second runs of late tasks, of which nobody hears."""
    outputs: list[DataObject] = []
    readers: list[Task] = []
    waited: list[Task] = []
    second: list[Task] = []
    graph, now, address = state.graph, state.now, governor.address
    for task, start in zip(batch.tasks, batch.began, strict=True):
        run = task.run or task.last_run()
        sudden = not run.started  # it was so short that its start was never told
        if start or sudden:
            run.started = _began(run, start, now)
        outputs += task.outputs
        session = task.session
        if task.inputs or session.contents:
            readers.append(task)
        if not task.outputs and task.handles is NOBODY:
            graph.leaving.append(task)
        if session.shadows and is_of_server(task.id):
            if task in graph.shadowed:
                second.append(task)
            continue
        if state.happenings is not None:
            state.happenings.task_finished(now, address, task, run, sudden=sudden)
        if task.waits or session.idle_waits or session.done is not None:
            waited.append(task)
    return outputs, readers, waited, second


def _began(run: Run, start: float, now: float) -> float:
    """When it did; 0 if its governor has not said so: then it has ended just now."""
    latest = now - run.duration
    return min(max(start, run.told), latest) if start else latest


def _end_waits(state: State, tasks: list[Task]) -> None:
    following.done(state, tasks)
    for task in tasks:
        if task.waits:
            waiting.done(state, task)
        session = task.session
        if session.idle_waits and not session.unfinished:
            waiting.idle(state, session)


def _take_notes(outputs: list[DataObject], notes: dict[ObjectId, ObjectNote]) -> None:
    for output in outputs:
        note = notes.get(output.id)
        if note is not None:
            output.content_type, output.user = note.content_type, note.user


def _take_contents(
    state: State, outputs: list[DataObject], notes: dict[ObjectId, ObjectNote] | None
) -> list[DataObject]:
    """Notes the contents of new outputs; returns the unneeded contents of earlier ones.

    This comes before the tasks release their inputs, so that everything they pass on stays. A
    reference to an object that is gone can only come from bytes that nobody has read; it claims
    nothing.
    """
    free: list[DataObject] = []
    if notes is None:
        outputs = [output for output in outputs if output.session.contents]
    for output in outputs:
        if output.state is ObjectState.FINISHED:
            continue  # one more copy of it
        note = None if notes is None else notes.get(output.id)
        inside = [] if note is None else _known(state, note.contents, output.session)
        if inside or output in output.session.contents:
            free += references.contain(output, inside)
    return free


def _pass_on(tasks: Iterable[Task]) -> list[DataObject]:
    """Gives outputs of stand-ins the contents of their inputs; returns unneeded earlier ones."""
    free: list[DataObject] = []
    for task in tasks:
        if stands_in(task):
            for output, one in zip(task.outputs, task.inputs, strict=True):
                inside = one.session.contents.get(one)
                if output.state is not ObjectState.FINISHED:
                    output.user = one.user
                    if inside:
                        free += references.contain(output, inside)
    return free


def _known(state: State, ids: Iterable[ObjectId], session: Session) -> list[DataObject]:
    """Those that something of a session can contain now."""
    found: list[DataObject] = []
    for object_id in ids:
        data_object = state.graph.objects.get(object_id)
        if data_object is not None and references.can_be_had(data_object, session):
            found.append(data_object)
        else:
            state.ignored += 1
    return found


def _finish_outputs(
    state: State,
    governor: Governor,
    outputs: list[DataObject],
    sizes: list[int],
    data: list[bytes],
) -> None:
    for output in outputs:
        if output.state is ObjectState.FINISHED:
            outputs, sizes, data = _only_new(state, governor, outputs, sizes, data)
            break
    ready = progress.finish_objects(outputs, sizes, governor)
    if state.happenings is not None and state.happenings.with_objects:
        for output in outputs:
            state.happenings.object_finished(state.now, governor, output)
    _take_in(state, outputs, sizes, data)
    for output in outputs:
        if output.waits:
            waiting.done(state, output)
    if ready:
        state.news.ready += ready
        for task in ready:
            if task.scheduled is not None:
                state.touched[task.scheduled] = None


def _take_in(state: State, outputs: list[DataObject], sizes: list[int], data: list[bytes]) -> None:
    """Keeps the small results that came with the update, if they are needed."""
    unneeded: list[DataObject] = []
    for output, size, content in zip(outputs, sizes, data, strict=True):
        if not output.handles.wants_data and not output.needed_by:
            unneeded.append(output)
        elif len(content) == size and (content or not is_exchange(output.producer)):
            output.data = content
            waiting.deliver_later(output)
    if unneeded:
        state.release_soon(unneeded)


def _only_new(
    state: State,
    governor: Governor,
    outputs: list[DataObject],
    sizes: list[int],
    data: list[bytes],
) -> tuple[list[DataObject], list[int], list[bytes]]:
    """Without the outputs that were made again for the sake of others: one more copy of each."""
    again = [output for output in outputs if output.state is ObjectState.FINISHED]
    for output in again:
        move_copy(output, governor, CopyMove.MAKE)
        copy = governor.objects[output]
        if copy.tries:  # it had tried to fetch it before
            state.fetches.is_over(copy)
    new = [place for place, output in enumerate(outputs) if output not in again]
    return [outputs[i] for i in new], [sizes[i] for i in new], [data[i] for i in new]
