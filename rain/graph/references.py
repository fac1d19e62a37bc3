"""References: futures inside of arguments and of data, which claim the objects that they stand for.

A task whose arguments have futures inside of them does not wait for these, and does not get their
data: it may ask for it while it runs. An object whose data has futures inside of it can be read by
any task or client, which may then ask for them. So each of these **contains** other objects:

* A task claims the data of the objects that it contains, like a reader, until it is done; and then
  by its lineage, as long as it may run again.
* An object claims their data as long as its own is claimed.

Both are counted together with readers and lineage (`needed_by`, `remade_by`); the session of the
container lists it in `contents`. Nothing here asks whether an object is finished.

**Backwards.** A cycle of such claims would never end. `circles` finds cycles by the containers of
each object: the session of the object lists these results (`in_results`), and the finished tasks
whose lineage claims it (`in_arguments`).

**Sessions.** An object that is contained or read may belong to another session. That session lists
it as `shared`, and cannot be removed before it (see rain/server/core/closing.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from rain.graph.data_object import DataObject
from rain.graph.session import Session
from rain.graph.task import Task

HolderT = TypeVar("HolderT", Task, DataObject)

Holder = Task | DataObject
"""A node that contains objects."""


def contain(holder: Holder, inside: Iterable[DataObject]) -> list[DataObject]:
    """Sets what a holder contains; returns earlier contents that are not needed now.

    An object does not claim itself, because such a claim would never end.
    """
    former = _empty(holder)
    found = [one for one in dict.fromkeys(inside) if one is not holder]
    for one in found:
        one.needed_by += 1
        share(one, holder.session)
        if isinstance(holder, DataObject):
            one.session.in_results.setdefault(one, {})[holder] = None
    if found:
        holder.session.contents[holder] = tuple(found)
    return _unneeded(former)


def can_be_had(data_object: DataObject, session: Session) -> bool:
    """Whether something of this session may contain it: its data must be claimed now.

    An object that is being released is not revived. A session that ends with its first failure
    keeps its objects to itself.
    """
    if data_object.session is not session and not data_object.session.goes_on:
        return False
    return data_object.kept or data_object.needed_by > 0


def can_be_read(data_object: DataObject, session: Session) -> bool:
    """Whether a task of this other session may read it: both must go on after failures."""
    return session.goes_on and can_be_had(data_object, session)


def share(data_object: DataObject, session: Session) -> None:
    """Notes that somebody in this session claims the object, which may be of another session."""
    if data_object.session is not session:
        data_object.session.shared[data_object] = None


def let_go(holder: Holder) -> list[DataObject]:
    """The holder contains nothing any more: its data is gone, or it is a task that will never run.

    Returns what is not needed any more.
    """
    return _unneeded(_empty(holder))


def _empty(holder: Holder) -> tuple[DataObject, ...]:
    inside = holder.session.contents.pop(holder, ())
    for one in inside:
        one.needed_by -= 1
        if isinstance(holder, DataObject):
            _take_out(one.session.in_results, one, holder)
    return inside


def finished(task: Task) -> list[DataObject]:
    """A task has finished; its lineage claims what is in its arguments, if it may run again."""
    if not task.may_run_again:
        _note_once_inside(task)
        return let_go(task)
    inside = task.session.contents.get(task, ())
    for one in inside:
        one.needed_by -= 1
        one.remade_by += 1
        one.session.in_arguments.setdefault(one, {})[task] = None
    return _unneeded(inside)


def running_again(task: Task) -> tuple[DataObject, ...]:
    """A finished task runs again; returns what it may ask for."""
    inside = task.session.contents.get(task, ())
    for one in inside:
        one.needed_by += 1
        one.remade_by -= 1
        _take_out(one.session.in_arguments, one, task)
    return inside


def end_lineage(task: Task) -> list[DataObject]:
    """A finished task need not be able to run again; returns what is not needed any more."""
    _note_once_inside(task)
    inside = task.session.contents.pop(task, ())
    for one in inside:
        one.remade_by -= 1
        _take_out(one.session.in_arguments, one, task)
    return [one for one in inside if is_free_of_lineage(one)]


def _note_once_inside(task: Task) -> None:
    """Notes the contents of a finished task, for the next run of its parent."""
    session = task.session
    inside = session.contents.get(task)
    if inside and session.parent is not None:
        session.once_inside[task] = tuple([one.id for one in inside])


def is_free(data_object: DataObject) -> bool:
    """Whether no claim needs the object any more, except perhaps a cycle (see `circles`)."""
    if data_object.handles.wants_data:
        return False
    return not data_object.needed_by or data_object.session.may_have_circles


def is_free_of_lineage(data_object: DataObject) -> bool:
    """Whether the object is free and no lineage claims it, which alone keeps data at the server."""
    return is_free(data_object) and (
        not data_object.remade_by or data_object.session.may_have_circles
    )


def _unneeded(objects: Iterable[DataObject]) -> list[DataObject]:
    return [one for one in objects if is_free(one)]


def _take_out(
    table: dict[DataObject, dict[HolderT, None]], data_object: DataObject, holder: HolderT
) -> None:
    """This does not contain the object any more."""
    holders = table[data_object]
    del holders[holder]
    if not holders:
        del table[data_object]


# The ends of sessions.


def claimed_outside(session: Session) -> list[DataObject]:
    """The objects of a session that others claim: visitors, and other sessions."""
    if not session.shared:
        return []
    inside = Counter(one for contents in session.contents.values() for one in contents)
    visitors = {member.client for member in session.members.values() if member.is_visitor}
    found: list[DataObject] = []
    for one in session.shared:
        if not one.is_known:
            continue
        readers = sum(
            task.session is session and (not task.is_done or task.may_run_again)
            for task in one.consumers
        )
        visited = any(handle.client in visitors for handle in one.handles.each)
        if visited or one.needed_by + one.remade_by > readers + inside[one]:
            found.append(one)
    return found


def leading_to(objects: Iterable[DataObject]) -> set[Task]:
    """The unfinished tasks of the sessions of these that make them, or what is needed for that."""
    tasks: set[Task] = set()
    seen = set(objects)
    pending = list(seen)
    while pending:
        one = pending.pop()
        contents = one.session.contents
        found = [*contents.get(one, ())]
        producer = one.producer
        if producer is not None and not producer.is_done and producer not in tasks:
            tasks.add(producer)
            found += [*producer.inputs, *producer.session.contents.get(producer, ())]
        for other in found:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return tasks


def forget_claims(session: Session) -> list[DataObject]:
    """A session is emptied: what it has claimed of others is free; returns what nobody needs."""
    free: list[DataObject] = []
    for holder, inside in session.contents.items():
        for one in inside:
            if one.session is not session:
                if isinstance(holder, Task) and holder.is_done:
                    one.remade_by -= 1
                    _take_out(one.session.in_arguments, one, holder)
                else:
                    one.needed_by -= 1
                if isinstance(holder, DataObject):
                    _take_out(one.session.in_results, one, holder)
                free.append(one)
    for task in session.reads_outside:
        for one in task.unique_inputs():
            if one.session is session or not one.is_known:
                continue
            if not task.is_done:
                one.needed_by -= 1
            elif task.may_run_again:
                one.remade_by -= 1
            one.consumers = [reader for reader in one.consumers if reader is not task]
            free.append(one)
    session.contents, session.reads_outside = {}, {}
    return _unneeded(dict.fromkeys(free))
