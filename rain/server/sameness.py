"""When two tasks are the same: the same function, arguments and inputs, down to the last byte.

What a client has given a key is the same as what has the same key. Everything else is compared by
its kind, its config, and the bytes of what it reads. What reads large constants without a key
cannot be compared, nor what has futures inside of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from rain.base.ids import ObjectId
from rain.base.wire import KeyColumns
from rain.common.imports import code_of
from rain.graph import DataObject, Task
from rain.server.held import Key

FUNCTION = "cloudpickle"
"""The content type of functions. Behind the pickle they say from which process they come."""

Given = Mapping[int, tuple[Key, Sequence[ObjectId]]]
"""The keys of tasks and constants that their client has said, and which objects belong to them."""

Made = dict[ObjectId, Key]
"""The keys of what was made and read in one session, or in one run of a task."""


def given_keys(columns: KeyColumns) -> Given:
    """What the client of a submission has said."""
    found: dict[int, tuple[Key, Sequence[ObjectId]]] = {}
    start = 0
    for holder, key, count in zip(columns.holders, columns.keys, columns.counts, strict=True):
        found[holder] = key, columns.objects[start : start + count]
        start += count
    return found


def note_constants(constants: Iterable[ObjectId], given: Given, made: Made) -> None:
    """What a client has said of new constants."""
    for object_id in constants:
        known = given.get(object_id)
        if known is not None:
            made[object_id] = _digest([known[0]])


def key_of(task: Task, made: Made, given: Given | None = None) -> Key | None:
    """What a task is: what it runs, with what. None if that cannot be compared."""
    known = None if given is None else given.get(task.id)
    key = _by_content(task, made) if known is None else _by_client(task, made, *known)
    if key is not None:
        for place, output in enumerate(task.outputs):
            made[output.id] = _digest([key, place])
    return key


def _by_client(task: Task, made: Made, key: Key, objects: Sequence[ObjectId]) -> Key:
    parts: list[object] = [key, task.kind.task_type, task.kind.input_labels, len(task.outputs)]
    return _digest([*parts, *(made.get(one) or ("object", one) for one in objects)])


def _by_content(task: Task, made: Made) -> Key | None:
    kind = task.kind
    parts: list[object] = [kind.task_type, kind.name, kind.user, kind.input_labels, task.config]
    for output in task.outputs:
        its = output.kind
        parts += [its.label, its.content_type, its.data_type, its.user]
    for data_object in task.inputs:
        found = _of_input(task, data_object, made)
        if found is None:
            return None
        parts.append(found)
    return _digest(parts)


def _of_input(task: Task, data_object: DataObject, made: Made) -> Key | None:
    known = made.get(data_object.id)
    if known is None and data_object.session is not task.session:
        known = _digest(["object", data_object.id])  # the very same is there for every run
    if known is None and data_object.producer is None and data_object.data is not None:
        kind = data_object.kind
        data = data_object.data
        content = code_of(data) if kind.content_type == FUNCTION else data
        if content is not None:
            parts = [kind.label, kind.content_type, kind.data_type, content]
            known = made[data_object.id] = _digest(parts)
    return known


def _digest(parts: Iterable[object]) -> Key:
    """One value for all of them, each with its length so that none runs into the next."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
