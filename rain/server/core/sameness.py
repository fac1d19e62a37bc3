"""Decides whether two tasks are the same: equal function, arguments and inputs, byte by byte.

Tasks and constants to which a client has given keys are the same if their keys are. Everything else
is compared by its kind, its config, and its inputs. Inputs, and futures inside of arguments and
constants, are compared by the tasks that make them, or by their ids if they are of other sessions.
Large constants are files: their client sends a digest, if it is the client of a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgpack

from rain.base.ids import ObjectId, session_of
from rain.base.units import UNIT
from rain.base.wire.submission import KeyColumns
from rain.common.sameness import alike, digest
from rain.graph import DataObject, Session, Task
from rain.server.core.held import Key

Given = Mapping[int, tuple[Key, Sequence[ObjectId]]]
"""The keys that a client has given for tasks and constants, and the objects that belong to them."""

Made = dict[ObjectId, Key]
"""The keys of what was made and read in one session, or in one run of a task."""


def given_keys(columns: KeyColumns) -> Given:
    """The keys that the client of a submission has given."""
    found: dict[int, tuple[Key, Sequence[ObjectId]]] = {}
    start = 0
    for holder, key, count in zip(columns.holders, columns.keys, columns.counts, strict=True):
        found[holder] = key, columns.objects[start : start + count]
        start += count
    return found


def note_constants(constants: Iterable[ObjectId], given: Given, made: Made) -> None:
    """Notes the keys that a client has given for new constants."""
    for object_id in constants:
        known = given.get(object_id)
        if known is not None:
            made[object_id] = digest([known[0]])


def key_of(
    task: Task, made: Made, given: Given | None = None, *, cluster: bytes = b""
) -> Key | None:
    """The key of a task, made of its function and its inputs; None if they cannot be compared."""
    known = None if given is None else given.get(task.id)
    key = _by_content(task, made, cluster) if known is None else _by_client(task, made, *known)
    if key is not None:
        for place, output in enumerate(task.outputs):
            made[output.id] = digest([key, place])
    return key


def _by_client(task: Task, made: Made, key: Key, objects: Sequence[ObjectId]) -> Key:
    parts: list[object] = [key, task.kind.task_type, task.kind.input_labels, len(task.outputs)]
    return digest([*parts, *(made.get(one) or ("object", one) for one in objects)])


def _by_content(task: Task, made: Made, cluster: bytes) -> Key | None:
    kind = task.kind
    config = _content(task, _config_of(task), "", cluster)
    parts: list[object] = [kind.task_type, kind.name, kind.user, kind.input_labels, config]
    for output in task.outputs:
        its = output.kind
        parts += [its.label, its.content_type, its.data_type, its.user]
    read = [one.id for one in task.inputs] + _inside(task)
    _note_what_is_read(task.session, read, made, cluster)
    found = _keys(task.session, read, made)
    return None if found is None else digest([*parts, *found])


def _config_of(task: Task) -> bytes:
    """Its config; that of a unit without the ids in it, which are others in each run."""
    if task.kind.task_type != UNIT:
        return task.config
    try:
        described: dict[str, Any] = msgpack.unpackb(task.config)
        described["calls"] = [
            [*row, len(outputs)] for _, *row, outputs in map(tuple, described["calls"])
        ]
        return msgpack.Packer().pack(described)
    except (msgpack.UnpackException, ValueError, TypeError, LookupError):
        return task.config  # known to its client only, so it is never the same as another one


def _keys(session: Session, objects: Iterable[ObjectId], made: Made) -> list[Key] | None:
    """The keys of these objects within this session; None if one has none."""
    keys: list[Key] = []
    for object_id in objects:
        key = made.get(object_id)
        if key is None and session_of(object_id) != session.id:
            key = digest(["object", object_id])  # the very same is there for every run
        if key is None:
            return None
        keys.append(key)
    return keys


def _note_what_is_read(
    session: Session, objects: Sequence[ObjectId], made: Made, cluster: bytes
) -> None:
    """Notes the keys of those that are constants, and before of those that are inside of them."""
    pending = _unknown_constants(session, objects, made)
    opened: set[DataObject] = set()
    while pending:
        one = pending[-1]
        if one not in opened:
            opened.add(one)
            inside = _unknown_constants(session, _inside(one), made)
            pending += [other for other in inside if other not in opened]
            continue
        pending.pop()
        kind = one.kind
        if one.data is None:
            content = session.digests.get(one.id)
        else:
            content = _content(one, one.data, kind.content_type, cluster)
        keys = _keys(session, _inside(one), made)
        if content is not None and keys is not None:
            parts = [kind.label, kind.content_type, kind.data_type, content, *keys]
            made[one.id] = digest(parts)


def _unknown_constants(
    session: Session, objects: Iterable[ObjectId], made: Made
) -> list[DataObject]:
    found = [session.objects.get(one) for one in objects if one not in made]
    return [one for one in found if one is not None and one.producer is None]


def _inside(holder: Task | DataObject) -> list[ObjectId]:
    session = holder.session
    if isinstance(holder, Task) and holder in session.once_inside:
        return [*session.once_inside[holder]]
    return [one.id for one in session.contents.get(holder, ())]


def _content(
    holder: Task | DataObject, data: bytes, content_type: str, cluster: bytes
) -> bytes | None:
    """The data, with what changes from run to run taken out."""
    return alike(data, content_type, cluster, _inside(holder))
