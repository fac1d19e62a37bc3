"""Removes nodes from open sessions when no client has a handle of them and no task needs them.

A task goes together with its outputs when it is done, will not run again, and nothing claims any of
them. A constant goes alone. Each step that may end the last reason for a node puts the node into
`leaving`; these nodes are examined here, some at a time.
"""

from __future__ import annotations

from sys import maxsize

from rain.base.states import ObjectState, TaskRow
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.handles import NOBODY
from rain.graph.task import DONE, Task

OVER = frozenset({ObjectState.REMOVED, ObjectState.FAILED})


def may_go(node: Task | DataObject) -> bool:
    """Whether the node can go: a constant, or a task with its outputs."""
    if isinstance(node, DataObject):
        if node.producer is None:
            return _is_over(node)
        node = node.producer
    if node.handles is not NOBODY or node.may_run_again or node.row not in DONE:
        return False
    if node.row is TaskRow.CANCELLING:
        return False  # its governor has it still
    for output in node.outputs:  # noqa: SIM110 # a generator for each task costs more than this
        if not _is_over(output):
            return False
    return True


def _is_over(data_object: DataObject) -> bool:
    """Whether the object will neither be read nor made again."""
    return (
        data_object.handles is NOBODY
        and data_object.state in OVER
        and not data_object.needed_by
        and not data_object.remade_by
    )


def take_leave(graph: Graph, most: int = maxsize) -> list[Task | DataObject]:
    """Removes nodes that may go from the graph, and returns them; examines at most this many.

    They are taken apart later, after the scheduler has got the news.
    """
    gone: list[Task | DataObject] = []
    leaving = graph.leaving
    for _ in range(min(most, len(leaving))):
        node = leaving.popleft()
        if not may_go(node) or not node.is_known:
            continue  # it is still needed, or has gone with another node
        task = node if isinstance(node, Task) else node.producer
        if task is not None:
            take_out(graph, task, gone)
        elif isinstance(node, DataObject):
            _take_object(graph, node, gone)
    return gone


def take_out(graph: Graph, task: Task, gone: list[Task | DataObject]) -> None:
    """Takes a task out of the graph, with its outputs: to those that have gone."""
    session = task.session
    del session.tasks[task.id]
    session.gone_tasks += 1
    graph.linked -= 1
    gone.append(task)
    for data_object in task.unique_inputs():
        _stop_reading(graph, data_object)
    if session.reads_outside:
        session.reads_outside.pop(task, None)
    if session.once_inside:
        session.once_inside.pop(task, None)
    for output in task.outputs:
        _take_object(graph, output, gone)


def _take_object(graph: Graph, data_object: DataObject, gone: list[Task | DataObject]) -> None:
    session = data_object.session
    del session.objects[data_object.id]
    session.gone_objects += 1
    graph.linked -= 1
    graph.former_readers.pop(data_object, None)
    if session.shared:
        session.shared.pop(data_object, None)
    if graph.suspects:
        graph.suspects.pop(data_object, None)
    gone.append(data_object)


def _stop_reading(graph: Graph, data_object: DataObject) -> None:
    """One reader has gone. When half of them have, the list is made again without them.

    A function may have a hundred thousand readers: searching for one of them would take too long.
    """
    if not data_object.is_known:
        return
    gone = graph.former_readers.get(data_object, 0) + 1
    if 2 * gone <= len(data_object.consumers):
        graph.former_readers[data_object] = gone
        return
    graph.former_readers.pop(data_object, None)
    data_object.consumers = [task for task in data_object.consumers if task.is_known] or ()
