"""Claims: the reasons why an object must be kept. An object without any claim is released.

* A **handle** of a client (`handles`) claims the object and, if the client has kept it, also its
  data. Tasks are claimed by handles only.
* A **reader**, a task that has not finished, claims the data (`needed_by`).
* **Lineage**, a finished task that may have to run again, claims its inputs (`remade_by`): only
  data that the server itself has, since all other data can be made again, too.
* A **container**, an object or arguments with futures inside, claims the objects of these futures.
  It counts as a reader, or as lineage (`references`).
* A task that will be tried again **holds** results of its former runs, and counts as a container of
  them. So does a durable session. So does a late task with the results of its second run
  (`shadows`).

Readers and lineage are counters, and change only here and in `references`. A function that ends a
claim returns the objects that are now unclaimed; `release` removes them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from sys import maxsize

from attrs import frozen

from rain.base.ids import ClientId
from rain.base.states import ObjectState
from rain.graph import references
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.handles import NOBODY, Handles, Member
from rain.graph.leaving import OVER
from rain.graph.session import Session
from rain.graph.task import DONE, Task

_NOT_HELD = object()


class Why(enum.Enum):
    """The kinds of claims on an object."""

    HANDLE = "handle"
    READERS = "readers"
    CONTAINERS = "containers"
    LINEAGE = "lineage"


@frozen
class Claim:
    """One reason why an object lives."""

    why: Why
    count: int  # of handles, of tasks or of containers
    holds_data: bool  # else it only has to be known
    client: ClientId | None = None  # whose handles they are


def claims_on(data_object: DataObject) -> list[Claim]:
    """All reasons why it lives, for people and for the checker."""
    claims = [
        Claim(Why.HANDLE, handle.times, handle.wants_data, handle.client)
        for handle in data_object.handles.each
    ]
    needed = data_object.needed_by
    readers = sum(not task.is_done for task in data_object.consumers) if needed else 0
    if readers:
        claims.append(Claim(Why.READERS, readers, holds_data=True))
    if needed > readers:
        claims.append(Claim(Why.CONTAINERS, needed - readers, holds_data=True))
    if data_object.remade_by:
        at_server = data_object.is_at_server
        claims.append(Claim(Why.LINEAGE, data_object.remade_by, holds_data=at_server))
    return claims


# Handles.


def note_submitted(member: Member, nodes: Iterable[Task | DataObject]) -> None:
    """The client that has submitted new nodes remembers that it has handles of them."""
    if not member.is_owner:
        member.nodes.update(dict.fromkeys(nodes))


def take_handle(member: Member, data_object: DataObject, *, wants_data: bool) -> None:
    """A client has one more handle of an object."""
    data_object.handles = data_object.handles.one_more(member, wants_data=wants_data)
    note_submitted(member, (data_object,))


def drop_handle(graph: Graph, member: Member, node: Task | DataObject) -> bool:
    """A client has one handle less; returns whether no client wants the data any more."""
    return _change(graph, member, node, node.handles.one_less(member)) is not None


def unkeep(graph: Graph, member: Member, data_object: DataObject) -> bool:
    """A client does not want the data any more; returns whether no other client does."""
    return _change(graph, member, data_object, data_object.handles.without_data(member)) is not None


def leave(graph: Graph, session: Session, member: Member) -> None:
    """A client leaves the session, and all its handles are to go (`drop_departed`)."""
    del session.members[member.client]
    if member.nodes:
        graph.departed.append((session, member))


def leave_open(graph: Graph, session: Session) -> list[DataObject]:
    """The owner leaves a session that goes on without it, and all its handles go at once.

    The same client may be given something of the session again. Returns unclaimed objects.
    """
    owner = session.owner
    del session.members[owner.client]
    unwanted: list[DataObject] = []
    nodes: tuple[Task | DataObject, ...] = (*session.tasks.values(), *session.objects.values())
    for node in nodes:
        data_object = _change(graph, owner, node, node.handles.without(owner))
        if data_object is not None:
            unwanted.append(data_object)
    return unwanted


def drop_departed(graph: Graph, most: int = maxsize) -> list[DataObject]:
    """Removes some handles of clients that have left; returns what no client wants any more."""
    unwanted: list[DataObject] = []
    while graph.departed and most > 0:
        _, member = graph.departed[0]
        while member.nodes and most > 0:
            most -= 1
            node, _ = member.nodes.popitem()
            data_object = _change(graph, member, node, node.handles.without(member))
            if data_object is not None:
                unwanted.append(data_object)
        if not member.nodes:
            graph.departed.popleft()
    return unwanted


def _change(
    graph: Graph, member: Member, node: Task | DataObject, handles: Handles
) -> DataObject | None:
    """Returns the node if it is an object whose data no client wants any more."""
    before = node.handles
    if handles is before:
        return None
    node.handles = handles
    if handles.of(member.client) is None:
        member.nodes.pop(node, None)
    if isinstance(node, Task):
        if handles is NOBODY and node.row in DONE:
            graph.leaving.append(node)
        return None
    if member.is_owner and node.session.undelivered and not handles.wanted_by(member.client):
        node.session.undelivered.pop(node, None)
    if handles is NOBODY and node.state in OVER:
        graph.leaving.append(node)
    return node if before.wants_data and not handles.wants_data else None


# For the next run of a parent.


def hold(graph: Graph, objects: Iterable[DataObject]) -> None:
    """The next run of the task that had these made may ask for them. Each is held once."""
    for data_object in objects:
        graph.held[data_object] = None
        data_object.needed_by += 1
        data_object.session.shared[data_object] = None


def end_hold(graph: Graph, objects: Iterable[DataObject]) -> list[DataObject]:
    """Ends the hold on these results; returns those that are not needed now."""
    free: list[DataObject] = []
    for data_object in objects:
        if graph.held.pop(data_object, _NOT_HELD) is None:
            data_object.needed_by -= 1
            if references.is_free(data_object):
                free.append(data_object)
    return free


# Readers and lineage.


def start_reading(data_object: DataObject, alone: tuple[Task]) -> bool:
    """One more task reads an object; returns whether the task has to wait for it.

    `alone` is a tuple with only this task, which its inputs share. A second use of the same object
    by the task changes nothing.
    """
    consumers = data_object.consumers
    if not consumers:
        data_object.consumers = alone
    elif consumers[-1] is alone[0]:
        return False
    elif isinstance(consumers, list):  # of a function that many call
        consumers.append(alone[0])
    else:
        data_object.consumers = [*consumers, *alone]
    data_object.needed_by += 1
    return data_object.state is not ObjectState.FINISHED


def finished_reading(tasks: Iterable[Task]) -> list[DataObject]:
    """These tasks and their outputs have finished; returns the inputs that are not needed any more.

    As long as outputs that may be lost are needed, the inputs belong to their lineage.
    """
    free: list[DataObject] = []
    for task in tasks:
        inputs = task.inputs
        if not inputs:
            if task.session.contents:
                free += references.finished(task)
            continue
        again = False
        for output in task.outputs:
            if output.may_have_to_be_made:
                task.may_run_again = again = True
                break
        for data_object in inputs if len(inputs) == 1 else task.unique_inputs():
            data_object.needed_by -= 1
            if again:
                data_object.remade_by += 1
            if references.is_free(data_object):
                free.append(data_object)
        if task.session.contents:
            free += references.finished(task)
    return free


def never_reading(tasks: Iterable[Task]) -> list[DataObject]:
    """These tasks will never run (again); returns the inputs that nothing else needs."""
    free: list[DataObject] = []
    for task in tasks:
        inputs = task.inputs
        if inputs:
            for data_object in inputs if len(inputs) == 1 else task.unique_inputs():
                data_object.needed_by -= 1
                if references.is_free(data_object):
                    free.append(data_object)
        if task.session.contents:
            free += references.let_go(task)
    return free


def reading_again(task: Task) -> tuple[DataObject, ...]:
    """A finished task runs again; returns what it reads."""
    task.may_run_again = False
    inputs = task.unique_inputs()
    for data_object in inputs:
        data_object.needed_by += 1
        data_object.remade_by -= 1
    return inputs


def end_lineage(task: Task) -> list[DataObject]:
    """A finished task will not run again; returns the inputs that are not needed any more."""
    task.may_run_again = False
    free: list[DataObject] = []
    for data_object in task.unique_inputs():
        data_object.remade_by -= 1
        if references.is_free_of_lineage(data_object):
            free.append(data_object)
    if task.session.contents:
        free += references.end_lineage(task)
    return free
