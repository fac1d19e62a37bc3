"""Releases objects that are not needed, and whole sessions.

Every function returns the orders for governors; none of them sends anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from sys import maxsize
from typing import Any

from rain.base.ids import ObjectId
from rain.base.states import ObjectMove, ObjectState, TaskRow
from rain.graph import circles, claims, planning, references, rules
from rain.graph.copy import forget_copies
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.graph import Graph
from rain.graph.handles import NOBODY
from rain.graph.lateness import forget_groups
from rain.graph.leaving import OVER
from rain.graph.pausing import forget_pauses
from rain.graph.session import Session
from rain.graph.shadows import forget_shadows
from rain.graph.task import DONE, Task

_FINISHED = ObjectState.FINISHED
_REMOVED = ObjectState.REMOVED


def release(
    graph: Graph, objects: Sequence[DataObject], most: int = maxsize
) -> tuple[dict[Governor, list[ObjectId]], int]:
    """Removes finished objects that are not needed.

    Objects at the server stay there as long as a task that may run again reads them; only the
    copies of governors go. A removed object does not count as lineage any more.

    Returns what each governor must drop, and an upper limit of the bytes that each holds. Ignores
    objects that are unfinished or needed. Objects beyond `most` wait in the graph
    (`take_unneeded`).
    """
    if len(objects) > most:
        graph.unneeded += objects[most:]
    looked_at = list(objects[:most])
    gone: list[DataObject] = []
    revived: list[DataObject] = []
    size = 0
    for data_object in looked_at:  # grows while it is walked
        if data_object.needed_by or data_object.handles.wants_data:
            circles.suspect(graph, data_object)
            continue
        if data_object.state is _FINISHED:
            size += data_object.size
            if data_object.remade_by and data_object.is_at_server:
                gone.append(data_object)  # the server keeps it for later runs
                circles.suspect(graph, data_object)
                continue
            _remove(graph, data_object)
            producer = data_object.producer
            if producer is not None and producer.row not in DONE:
                revived.append(data_object)
                continue
            gone.append(data_object)
        elif data_object.state is not _REMOVED:
            _leave_if_over(graph, data_object)
            continue
        if data_object.session.contents:
            _look_at(graph, references.let_go(data_object), looked_at, most)
        if data_object.remade_by:
            circles.suspect(graph, data_object)
        else:
            _end_lineage(graph, data_object, looked_at, most)
            _leave_if_over(graph, data_object)
    drops = forget_copies(gone)
    for data_object in revived:
        # Its producer runs again for another output, so it is made again, and removed again.
        data_object.move(ObjectMove.REVIVE)
        for governor in planning.expect(data_object):
            drops.setdefault(governor, []).append(data_object.id)
    return drops, size


def _leave_if_over(graph: Graph, data_object: DataObject) -> None:
    """Lets an object that is not needed leave the graph if no client has a handle of it."""
    if data_object.handles is NOBODY and data_object.state in OVER:
        graph.leaving.append(data_object)
    elif data_object.session.is_left and data_object.state is ObjectState.UNFINISHED:
        graph.unwanted.append(data_object)


def _remove(graph: Graph, data_object: DataObject) -> None:
    data_object.move(ObjectMove.REMOVE)
    data_object.session.stored -= data_object.size
    if data_object.data is not None:
        data_object.data = None
        undelivered = data_object.session.undelivered
        if undelivered:
            undelivered.pop(data_object, None)
    elif data_object.spooled:
        _unspool(graph, data_object)


def _end_lineage(
    graph: Graph, data_object: DataObject, looked_at: list[DataObject], most: int
) -> None:
    """The task of a removed object need not run again if nothing needs its other outputs.

    Then its inputs are examined next, in this turn or, beyond `most`, in a later one.
    """
    task = data_object.producer
    if task is None or not task.may_run_again:
        return
    for output in task.outputs:
        if output.may_have_to_be_made:
            return
    _look_at(graph, claims.end_lineage(task), looked_at, most)


def _look_at(graph: Graph, free: list[DataObject], looked_at: list[DataObject], most: int) -> None:
    """These are not needed: they are looked at next, or in a later turn."""
    for one in free:
        if len(looked_at) < most:
            looked_at.append(one)
        else:
            graph.unneeded.append(one)


def take_unneeded(graph: Graph, most: int) -> list[DataObject]:
    """Takes up to `most` of the waiting objects, to be released now."""
    waiting = graph.unneeded
    return [waiting.popleft() for _ in range(min(most, len(waiting)))]


def _unspool(graph: Graph, data_object: DataObject) -> None:
    data_object.spooled = False
    data_object.session.digests.pop(data_object.id, None)
    graph.unspooled.append(data_object.id)


def clear(graph: Graph, session: Session) -> dict[Governor, float]:
    """Empties a session that was closed or has failed, and whose objects are not claimed.

    Returns the governors that know of it, and at most how many bytes each holds of it; infinitely
    many for governors that work for it. Its nodes leave the graph and are taken apart later
    (`take_apart`). What it has claimed of other sessions is let go before
    (`references.forget_claims`).
    """
    concerned: dict[Governor, float] = {}
    if session.unfinished or session.first_failed is not None:  # some may still be cancelled
        _take_tasks_out(session, concerned)
    _take_objects_out(graph, session, concerned)
    _forget_kinds(graph, session, concerned)
    if graph.unneeded:
        graph.unneeded = deque(one for one in graph.unneeded if one.session is not session)
    if graph.leaving:
        graph.leaving = deque(one for one in graph.leaving if one.session is not session)
    if graph.suspects:
        graph.suspects = {one: None for one in graph.suspects if one.session is not session}
    if graph.former_readers:
        graph.former_readers = {
            one: gone for one, gone in graph.former_readers.items() if one.session is not session
        }
    graph.linked -= len(session.tasks) + len(session.objects)
    graph.remains += session.tasks.values()
    graph.remains += session.objects.values()
    for member in session.members.values():
        member.nodes = {}
    if graph.pauses:
        forget_pauses(graph, session)
    if session.groups:
        forget_groups(graph, session)
        forget_shadows(graph, session)
    if graph.departed:
        graph.departed = deque(one for one in graph.departed if one[0] is not session)
    session.tasks, session.objects, session.once_inside = {}, {}, {}
    session.undelivered, session.waits, session.shared = {}, {}, {}
    session.in_results, session.in_arguments = {}, {}
    session.idle_waits, session.followers, session.done = [], [], None
    session.done_count = 0
    session.unfinished = session.stored = 0
    _give_tables_back(graph)
    in_order = sorted(concerned, key=lambda governor: governor.number)
    return {governor: concerned[governor] for governor in in_order}


def _take_tasks_out(session: Session, concerned: dict[Governor, float]) -> None:
    queues: dict[Governor, None] = {}
    for task in session.tasks.values():
        governor = task.scheduled
        if governor is not None:
            _leave(task, governor)
            if task.row is TaskRow.QUEUED:
                queues[governor] = None
            elif task.assigned is not None:
                concerned[governor] = inf
            task.scheduled = task.assigned = None
    for governor in queues:
        governor.queue.forget(session)


def _take_objects_out(graph: Graph, session: Session, concerned: dict[Governor, float]) -> None:
    for data_object in session.objects.values():
        if data_object.copies:
            for governor in forget_copies((data_object,)):
                concerned[governor] = concerned.get(governor, 0) + data_object.size
        if data_object.spooled:
            _unspool(graph, data_object)


def take_apart(graph: Graph, most: int = maxsize) -> None:
    """Takes apart up to `most` nodes that have gone, mostly of sessions that have ended.

    They form reference cycles, and the garbage collector does not examine them here.
    """
    remains = graph.remains
    some = remains[-most:]
    del remains[-most:]
    for node in some:
        node.handles = NOBODY
        if isinstance(node, Task):
            node.waits = node.sched = None
            node.inputs = node.outputs = ()
        else:
            node.data = node.waits = node.sched = node.producer = None
            node.consumers = ()


def _leave(task: Task, governor: Governor) -> None:
    """Removes a task that is gone from its governor."""
    del governor.scheduled[task]
    governor.assigned.pop(task, None)
    rules.leave_groups(task, governor)
    planning.vacate(task, governor, task.row)


def _give_tables_back(graph: Graph) -> None:
    """Frees the memory of dictionaries that are empty now."""
    tables: list[dict[Any, Any]] = []
    for governor in graph.governors.values():
        tables += [governor.scheduled, governor.assigned, governor.objects]
        tables += [governor.asked, governor.expected]
    for table in tables:
        if not table:
            table.clear()


def _forget_kinds(graph: Graph, session: Session, concerned: dict[Governor, float]) -> None:
    """Forgets the kinds of a session. Governors that were told of any must hear of its end."""
    for governor in graph.governors.values():
        told = governor.kinds_told
        if not told or (
            told.isdisjoint(session.task_kinds) and told.isdisjoint(session.object_kinds)
        ):
            continue
        concerned.setdefault(governor, 0)
        told.difference_update(session.task_kinds, session.object_kinds)
    session.task_kinds, session.object_kinds, session.learned = {}, {}, {}
    session.same_kinds = {}
