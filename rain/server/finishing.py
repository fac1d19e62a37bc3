"""Tasks that governors have finished, and what they made: in columns, as they were told.

A message tells of a hundred tasks, so whatever can be done for all of them at once is done at once.
"""

from __future__ import annotations

from attrs import Factory, define

from rain.base.errors import ProtocolError
from rain.base.ids import FIRST_SHARED, NUMBER_MASK, ObjectId, spell
from rain.base.states import ObjectState, TaskRow
from rain.base.wire import ObjectNote, Update
from rain.graph import progress
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.task import Task
from rain.server import waiting
from rain.server.state import State


@define
class _Finished:
    """Tasks that one governor has finished, and what they made: flat, in the order of the tasks."""

    tasks: dict[Task, float] = Factory(dict)  # how many seconds each took
    volumes: list[int] = Factory(list)  # how many bytes each made
    outputs: list[DataObject] = Factory(list)
    sizes: list[int] = Factory(list)
    data: list[bytes] = Factory(list)


def finish(state: State, governor: Governor, update: Update) -> None:
    """All that has finished, together as far as nobody made there what another one waited for."""
    finished, known = update.finished, state.graph.tasks
    sizes, data = finished.sizes, finished.data
    notes = {note.object: note for note in update.object_notes} if update.object_notes else {}
    batch = _Finished()
    end = 0
    for task_id, attempt, duration, count in zip(
        finished.ids, finished.attempts, finished.durations, finished.output_counts, strict=True
    ):
        start, end = end, end + count
        task = known.get(task_id)
        if task is not None and task.row is TaskRow.AHEAD and batch.tasks:
            _finish_batch(state, governor, batch, notes)
            batch = _Finished()
        if (
            task is None
            or task.assigned is not governor
            or task.attempt != attempt
            or task in batch.tasks
        ):
            state.ignored += 1
            continue  # with the stop it was told to drop the outputs
        if len(task.outputs) != count or task.row is TaskRow.AHEAD:
            _finish_batch(state, governor, batch, notes)
            raise ProtocolError(_contradiction(task, count))
        batch.tasks[task] = duration
        if count == 1:  # as nearly always
            batch.volumes.append(sizes[start])
            batch.sizes.append(sizes[start])
            batch.data.append(data[start])
        else:
            batch.volumes.append(sum(sizes[start:end]))
            batch.sizes += sizes[start:end]
            batch.data += data[start:end]
        batch.outputs += task.outputs
    _finish_batch(state, governor, batch, notes)


def _contradiction(task: Task, outputs: int) -> str:
    if len(task.outputs) != outputs:
        has = len(task.outputs)
        return f"{spell(task.id)} finished with {outputs} outputs, it has {has}"
    return f"{spell(task.id)} finished before its inputs"


def _finish_batch(
    state: State, governor: Governor, batch: _Finished, notes: dict[ObjectId, ObjectNote]
) -> None:
    """The tasks first, then what they made, then what they have read, then who waits for them."""
    tasks = batch.tasks
    if not tasks:
        return
    progress.finish(tasks, governor)
    for task, duration in tasks.items():
        sudden = not task.started  # it was so short that its start was never told
        if sudden:
            task.started = state.now - duration
        if state.happenings is not None:
            state.happenings.task_finished(state.now, governor, task, sudden=sudden)
    state.news.finished += tasks
    state.touched[governor] = None
    _learn(state, batch)
    for output in batch.outputs if notes else ():
        note = notes.get(output.id)
        if note is not None:
            output.content_type, output.user = note.content_type, note.user
    _finish_outputs(state, governor, batch)
    free = progress.consumed(tasks)
    if free:
        state.release_soon(free)
    for task in tasks:
        if task.waits:
            waiting.done(state, task)
        session = task.session
        if not session.unfinished and session.idle_waits:
            waiting.idle(state, session)


def _learn(state: State, batch: _Finished) -> None:
    """How long tasks of these names take, and how much they make. Neighbours often share one."""
    tasks, seconds = list(batch.tasks), list(batch.tasks.values())
    start = 0
    for end in range(1, len(tasks) + 1):
        kind = tasks[start].kind
        if end == len(tasks) or tasks[end].kind is not kind:
            learned = tasks[start].session.learned[kind.id]
            state.estimates.finished(learned, seconds[start:end], batch.volumes[start:end])
            start = end


def _finish_outputs(state: State, governor: Governor, batch: _Finished) -> None:
    outputs, sizes, data = batch.outputs, batch.sizes, batch.data
    for output in outputs:
        if output.state is ObjectState.FINISHED:
            outputs, sizes, data = _only_new(governor, batch)
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
    """Keeps what has come with the news as far as somebody needs it."""
    unneeded: list[DataObject] = []
    for output, size, content in zip(outputs, sizes, data, strict=True):
        if not output.kept and not output.needed_by:
            unneeded.append(output)
        elif len(content) == size:
            output.data = content
            # A delivery has no room for notes, and goes to the owner of the session alone.
            if output.kept and not output.user and output.id & NUMBER_MASK < FIRST_SHARED:
                output.session.undelivered[output] = None
    if unneeded:
        state.release_soon(unneeded)


def _only_new(
    governor: Governor, batch: _Finished
) -> tuple[list[DataObject], list[int], list[bytes]]:
    """Without the outputs that were made again for the sake of others: one more copy of each."""
    outputs, sizes, data = batch.outputs, batch.sizes, batch.data
    again = [output for output in outputs if output.state is ObjectState.FINISHED]
    for output in again:
        progress.add_copy(output, governor)
    new = [place for place, output in enumerate(outputs) if output not in again]
    return [outputs[i] for i in new], [sizes[i] for i in new], [data[i] for i in new]
