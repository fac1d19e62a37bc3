"""Lets tasks stand in for others: from then on they only pass on the results of these.

A task stands in when its result comes from elsewhere: its function has passed its result on to
another task (rain/server/core/handing_on.py), or a former run of its parent had submitted the same
task before (rain/server/core/adopting.py). It keeps its id, its outputs and its waits. Its inputs
are the results of the others, and its kind is another one: a built-in task that takes no cpus.

If a task stands in for a task that stands in itself, it passes on the same results as that one. So
a chain of any length has one waiting task, and the tasks between can be removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rain.base.ids import LAST_SHARED, NUMBER_BITS, KindId
from rain.base.kinds import SAME, TaskKind
from rain.base.resources import Resources
from rain.base.states import TaskMove, TaskRow
from rain.graph import claims, lateness, references
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.task import Task


def stands_in(task: Task) -> bool:
    """Whether the task only passes on the outputs of other tasks."""
    return task.kind.task_type == SAME


def origins(objects: Iterable[DataObject]) -> tuple[DataObject, ...]:
    """The objects that will be passed on as these: for an unfinished task that stands in, its
    inputs.
    """
    return tuple([_origin(one) for one in objects])


def _origin(data_object: DataObject) -> DataObject:
    producer = data_object.producer
    if producer is None or producer.is_done or not stands_in(producer):
        return data_object
    return producer.inputs[producer.outputs.index(data_object)]


def stand_in(graph: Graph, task: Task, objects: Sequence[DataObject]) -> list[DataObject]:
    """A task without a plan stands in for the tasks that make these, one for each of its outputs.

    All of them must be claimed, and not be gone. Returns what is not needed any more.
    """
    session = task.session
    if task.kind.idempotent:
        lateness.out_of_count(graph, task)
    task.kind = _kind(graph, task)
    task.config = b""
    new = tuple(dict.fromkeys(objects))
    for one in new:
        one.needed_by += 1  # until it is read, a few lines below
    former = task.unique_inputs()
    for one in former:
        one.needed_by -= 1
        one.consumers = tuple([reader for reader in one.consumers if reader is not task])
    free = [one for one in former if references.is_free(one)]
    if session.contents:
        free += references.let_go(task)
    session.reads_outside.pop(task, None)
    task.inputs = tuple(objects)
    task.missing = 0
    for one in new:
        one.needed_by -= 1
        task.missing += claims.start_reading(one, (task,))
        references.share(one, session)
        if one.session is not session:
            session.reads_outside[task] = None
    if task.missing and task.row is TaskRow.READY:
        task.move(TaskMove.INPUT_LOST)
    elif not task.missing and task.row is TaskRow.WAITING:
        task.move(TaskMove.INPUTS_FINISHED)
    return free


def followers(task: Task) -> list[Task]:
    """The unfinished tasks that stand in for this one."""
    readers = [reader for output in task.outputs for reader in output.consumers]
    return [one for one in dict.fromkeys(readers) if stands_in(one) and not one.is_done]


def depends_on(objects: Iterable[DataObject], task: Task) -> bool:
    """Whether any of these needs what this unfinished task makes, perhaps through others."""
    return task in references.leading_to(objects)


def _kind(graph: Graph, task: Task) -> TaskKind:
    """The kind of those that stand in for tasks of this kind; one for each of a session."""
    kind, session = task.kind, task.session
    if kind.task_type == SAME:
        return kind
    known = session.same_kinds.get(kind.id)
    if known is None:
        number = LAST_SHARED + len(session.same_kinds)  # its owner counts down to these
        known = session.same_kinds[kind.id] = TaskKind(
            KindId(session.id << NUMBER_BITS | number),
            SAME,
            kind.name,
            Resources(0),
            outputs=kind.outputs,
            user=kind.user,
            priority=kind.priority,
            depth=kind.depth,
            root=kind.root,
        )
        session.task_kinds[known.id] = known
        session.learned[known.id] = graph.learned_of(known)
    return known
