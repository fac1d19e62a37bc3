"""What a task that is tried again finds of its former run: results of the tasks that it submitted.

When a run ends and its task will be tried again, the small results of what it had submitted are
kept. What the next run submits is compared with them, and has its result at once if the very same
was made before: the same function, arguments and inputs, down to the last byte. So a task that does
something else the next time gets nothing that it has not asked for. Of equal tasks each has a
result of its own, in the order of their submission.

A task that has failed by its own doing finds nothing: one of the results may be the reason.

Results that the server does not have itself are not kept, and nothing that reads large constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskRow
from rain.common.imports import code_of
from rain.graph import DataObject, Session, Task, claims, progress
from rain.server import following
from rain.server.results import Key, Result, Results
from rain.server.state import State

FUNCTION = "cloudpickle"
"""The content type of functions. Behind the pickle they say from which process they come."""


def keep(state: State, session: Session) -> None:
    """A session of a task is about to end with its run, and the task may be tried again."""
    parent = session.parent
    if parent is None or not parent.is_known or parent.is_done or has_failed_itself(parent):
        return
    results = state.results.get(parent)
    if results is None:
        results = state.results[parent] = Results()
    for task in session.tasks.values():
        key = _key(task, results)
        if key is not None and task.row is TaskRow.FINISHED and task.run is not None:
            (made,) = task.outputs
            is_whole = made not in session.contents  # what is inside would end with the session
            if made.state is ObjectState.FINISHED and made.data is not None and is_whole:
                results.add(key, Result(made.data, made.content_type, made.user, task.run))
    results.keys.clear()


def has_failed_itself(parent: Task) -> bool:
    """Whether its last run has failed by its own doing, perhaps because of one of these results."""
    return parent.run is not None and parent.run.cause is RunCause.TASK


def forget(state: State) -> None:
    """Results of tasks that will not be tried again, or not with these."""
    for parent in list(state.results):
        if not parent.is_known or parent.is_done or has_failed_itself(parent):
            del state.results[parent]


def adopt(state: State, session: Session, tasks: list[Task]) -> list[Task]:
    """Finishes those of the new tasks whose results were kept; returns the others."""
    assert session.parent is not None
    results = state.results[session.parent]
    adopted: list[Task] = []
    for task in tasks:  # inputs before consumers
        key = _key(task, results)
        result = None
        if key is not None and task.row is TaskRow.READY:
            result = results.take(key)
        if result is not None:
            _finish(state, task, result)
            adopted.append(task)
    if adopted:
        following.done(state, adopted)
        state.release_soon(claims.finished_reading(adopted))
    return [task for task in tasks if task.row is not TaskRow.FINISHED]


def _finish(state: State, task: Task, result: Result) -> None:
    progress.adopt(task, result.run)
    (made,) = task.outputs
    made.content_type, made.user = result.content_type, result.user
    progress.adopt_object(made, result.data)
    if made.handles.wants_data and not made.user:
        task.session.undelivered[made] = None
    if state.happenings is not None:
        address = result.run.governor
        state.happenings.task_finished(state.now, address, task, result.run, sudden=True)


def _key(task: Task, results: Results) -> Key | None:
    """What a task is: what it runs, with what. None if that cannot be compared."""
    if len(task.outputs) != 1:
        return None
    kind, (made,) = task.kind, task.outputs
    parts: list[object] = [kind.task_type, kind.name, kind.user, kind.input_labels, task.config]
    parts += [made.kind.label, made.kind.content_type, made.kind.data_type, made.kind.user]
    for data_object in task.inputs:
        found = _input_key(data_object, results)
        if found is None:
            return None
        parts.append(found)
    key = results.keys[made] = _digest(parts)
    return key


def _input_key(data_object: DataObject, results: Results) -> Key | None:
    known = results.keys.get(data_object)
    if known is None and data_object.producer is None and data_object.data is not None:
        kind = data_object.kind
        data = data_object.data
        content = code_of(data) if kind.content_type == FUNCTION else data
        if content is not None:
            parts = [kind.label, kind.content_type, kind.data_type, content]
            known = results.keys[data_object] = _digest(parts)
    return known


def _digest(parts: Iterable[object]) -> Key:
    """One value for all of them, each with its length so that none runs into the next."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
