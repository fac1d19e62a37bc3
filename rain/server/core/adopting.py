"""Lets the next run of a task reuse the tasks that its former runs have submitted.

When a run is lost with its process or its governor, or is withdrawn, its sessions are **held** for
the next run of the task: their tasks go on, and their results stay. A task that the next run
submits is compared with them. If one has the same function, arguments and inputs, down to the last
byte, the new task stands in for it. So a task that behaves differently in its next run gets only
results that it has asked for. Of equal tasks each stands in for one of its own, in the order of
their submission. Held tasks that the next run did not submit again end with the parent task.

A task that has failed by itself finds nothing: one of the results may be the reason. A task that
has exceeded its time limit finds results, but no running tasks: one of them may hang.

A task without outputs has no results to reuse: if it has finished, it counts as done, and if not,
it ends with its run.

`rain.server.core.sameness` compares tasks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from rain.base.failures import OnFailure
from rain.base.runs import RunCause, RunState
from rain.base.states import TaskRow
from rain.graph import DataObject, Session, Task, claims, progress, references
from rain.graph.run import Run
from rain.graph.standing_in import origins, stand_in
from rain.server.core import following, waiting
from rain.server.core.held import Held, is_there
from rain.server.core.sameness import key_of
from rain.server.core.state import State


def hold(state: State, session: Session) -> None:
    """A session of a task is about to end with its run, and the task may be tried again."""
    parent = session.parent
    if parent is None or not _finds_something(parent):
        return
    held = state.nested.held.get(parent)
    if held is None:
        held = state.nested.held[parent] = Held()
    session.on_failure = OnFailure.CONTINUE  # there is no client to notify
    for task in session.own_tasks:
        key = held.own.pop(task, None) or key_of(task, held.made, cluster=state.succession.cluster)
        if key is None or not _may_be_held(parent, task):
            continue
        if not task.outputs:
            if task.row is TaskRow.FINISHED:
                held.ended.setdefault(key, deque()).append(task.last_run())
        else:
            held.by_key.setdefault(key, deque()).append(task)
            claims.hold(state.graph, task.outputs)
            held.objects += task.outputs
    held.made.clear()


def forget(state: State) -> None:
    """Objects that are held for tasks that are over, or that have failed by themselves."""
    for parent in list(state.nested.held):
        if not parent.is_known or parent.is_done or has_failed_itself(parent):
            _end_hold(state, state.nested.held.pop(parent).objects)


def adopt(state: State, session: Session, tasks: list[Task]) -> list[Task]:
    """Lets new tasks stand in for those that are held; returns those that have not finished."""
    assert session.parent is not None
    held = state.nested.held[session.parent]
    adopted: dict[Task, Run | None] = {}
    for task in tasks:  # inputs before consumers
        key = key_of(task, held.made, cluster=state.succession.cluster)
        if key is None:
            continue
        made: tuple[DataObject, ...] = ()
        if task.outputs:
            former = held.take(key)
            if former is None:
                continue
            made, run = former.outputs, former.run
        else:
            run = held.take_ended(key)
            if run is None:
                continue
        adopted[task] = run
        held.own[task] = key
        pass_on(state, task, made)
        _end_hold(state, made)
    return without_finished(state, tasks, adopted)


def pass_on(state: State, task: Task, made: Sequence[DataObject]) -> None:
    """A new task stands in for a former one, which has made these or will make them."""
    state.release_soon(stand_in(state.graph, task, origins(made)))


def without_finished(
    state: State, tasks: list[Task], adopted: Mapping[Task, Run | None]
) -> list[Task]:
    """Finishes those that stand in for what the server has; returns the others of the tasks."""
    finished = [
        task
        for task, run in adopted.items()
        if run is not None and finish(state, task, run, sudden=True) is not None
    ]
    if finished:
        following.done(state, finished)
        state.release_soon(claims.finished_reading(finished))
    return [task for task in tasks if task.row is not TaskRow.FINISHED]


def finish(state: State, task: Task, run: Run, *, sudden: bool) -> list[Task] | None:
    """Finishes a task at once if the server has all that it passes on, which this run has made.

    Returns the readers that became ready by it; None if it cannot finish at once. `sudden` if no
    start of it was told. Those who wait for the task itself are not told here.
    """
    if task.row is not TaskRow.READY or any(one.data is None for one in task.inputs):
        return None
    progress.adopt(task, run)
    ready: list[Task] = []
    unneeded: list[DataObject] = []
    for made, one in zip(task.outputs, task.inputs, strict=True):
        assert one.data is not None
        made.content_type, made.user = one.content_type, one.user
        inside = one.session.contents.get(one)
        if inside:
            references.contain(made, inside)
        ready += progress.adopt_object(made, one.data)
        waiting.deliver_later(made)
        if not made.is_needed:
            unneeded.append(made)
        if made.waits:
            waiting.done(state, made)
    state.release_soon(unneeded)
    if state.happenings is not None:
        state.happenings.task_finished(state.now, run.governor, task, run, sudden=sudden)
    return ready


def has_failed_itself(parent: Task) -> bool:
    """Whether the last run of the parent has failed by itself: held results may be the reason."""
    return parent.run is not None and parent.run.cause is RunCause.TASK


def _finds_something(parent: Task) -> bool:
    """Whether the parent will run again, and may reuse the tasks that this run has submitted."""
    if not parent.is_known or parent.is_done or has_failed_itself(parent):
        return False
    return parent.run is None or parent.run.state is not RunState.FINISHED  # else it is handed on


def _may_be_held(parent: Task, task: Task) -> bool:
    if parent.run is not None and parent.run.cause is RunCause.TIMEOUT:
        return task.row is TaskRow.FINISHED and is_there(task)
    return not task.has_failed and is_there(task)


def _end_hold(state: State, objects: Sequence[DataObject]) -> None:
    state.release_soon(claims.end_hold(state.graph, objects))
