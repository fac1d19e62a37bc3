"""Frames from the governor to executors of other languages (protocol "cbor-1"; see the guide).

Specs and infos use the field names of Rain 0.4. Empty fields are left out, because the executors of
Rain 0.4 reject fields that they do not know.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cbor2
import msgpack
from attrs import Factory, define, frozen

from rain.base.errors import InvariantError
from rain.base.ids import KindId, ObjectId, SessionId, session_of, spell, unpack
from rain.base.kinds import ObjectKind, TaskKind
from rain.common.attributes import ObjectInfo, ObjectSpec, TaskSpec, TaskSpecInput
from rain.governor.core.effects import CallExecutor, CallRow, FullInputRow
from rain.governor.core.reactor_settings import PYTHON
from rain.governor.core.results import Content

PROTOCOL = "cbor-1"
LARGEST_FRAME = 128 * 1024 * 1024

Place = Callable[[ObjectId, ObjectKind, Content], bytes | str]
"""Decides how the executor gets an input: as bytes or as a path."""


class UncallableError(Exception):
    """A call cannot be encoded as a frame; the task fails with this reason."""


@frozen
class Input:
    """One input of a call, with its metadata."""

    id: ObjectId
    kind: ObjectKind
    content_type: str
    user: str
    size: int
    content: Content


@frozen
class Call:
    """One call with its kinds resolved."""

    task: int
    kind: TaskKind
    config: bytes
    inputs: tuple[Input, ...]
    outputs: tuple[tuple[ObjectId, ObjectKind], ...]
    cached: frozenset[ObjectId]  # inputs that the executor says it has; never iterated
    gpus: tuple[str, ...] = ()  # the gpus lent to the call

    def knows(self, object_id: ObjectId) -> bool:
        """Whether the object belongs to this call."""
        return any(one.id == object_id for one in self.inputs) or any(
            one == object_id for one, _ in self.outputs
        )


@define(eq=False)
class Kinds:
    """The kinds that the calls of one executor use; each is sent once, as to Python executors."""

    tasks: dict[KindId, TaskKind] = Factory(dict)
    objects: dict[KindId, ObjectKind] = Factory(dict)

    def learn(self, effect: CallExecutor) -> None:
        """Adds the new kinds that come with the calls that use them."""
        self.tasks.update((kind.id, kind) for kind in effect.task_kinds)
        self.objects.update((kind.id, kind) for kind in effect.object_kinds)

    def forget(self, sessions: Sequence[SessionId]) -> None:
        """Removes the kinds of these sessions."""
        for kinds in (self.tasks, self.objects):
            for kind in [kind for kind in kinds if session_of(kind) in sessions]:
                del kinds[kind]

    def _input(self, row: FullInputRow) -> Input:
        object_id, kind, content_type, user, size, content = row
        if content is None:  # such executors get no followers
            raise InvariantError(f"the input {spell(object_id)} of a call has no content")
        return Input(object_id, self.objects[kind], content_type, user, size, content)

    def call(
        self, row: CallRow, held: Sequence[ObjectId], gpus: tuple[str, ...] | None = None
    ) -> Call:
        """Builds a call from its row; rows for these executors contain all inputs in full."""
        task, kind_id, config, inputs, outputs = row
        kind = self.tasks[kind_id]
        return Call(
            task,
            kind,
            config,
            tuple(self._input(one) for one in inputs if isinstance(one, tuple)),
            tuple(
                (output, self.objects[its_kind])
                for output, its_kind in zip(outputs, kind.outputs, strict=True)
            ),
            frozenset(held),
            gpus or (),
        )


def call_frame(call: Call, place: Place) -> bytes:
    """Encodes one call; raises `UncallableError`."""
    try:
        fields: dict[str, Any] = {
            "spec": _task_spec(call).to_json(),
            "inputs": [_input(one, call, place) for one in call.inputs],
            "outputs": [
                {"spec": _object_spec(object_id, kind), "cache_hint": True}
                for object_id, kind in call.outputs
            ],
        }
        if call.gpus:  # unknown to Rain 0.4, but only tasks that ask for gpus get it
            fields["gpus"] = list(call.gpus)
        frame = cbor2.dumps(["call", fields])
    # User JSON (notes, configurations) may be invalid or not encodable as text.
    except (cbor2.CBOREncodeError, ValueError, RecursionError) as error:
        raise UncallableError(f"the call cannot be encoded: {error}") from None
    if len(frame) > LARGEST_FRAME:
        raise UncallableError(
            f"the call has {len(frame)} bytes, but a message to an executor may have at most"
            f" {LARGEST_FRAME}"
        )
    return frame


def drop_frame(objects: Sequence[ObjectId]) -> bytes:
    """Encodes the list of objects that the executor need not cache any more."""
    return cbor2.dumps(["drop_cached", {"objects": [list(unpack(one)) for one in objects]}])


def _input(one: Input, call: Call, place: Place) -> dict[str, Any]:
    location: Any = "cached"
    if one.id not in call.cached:
        placed = place(one.id, one.kind, one.content)
        location = ["memory" if isinstance(placed, bytes) else "path", placed]
    info = ObjectInfo(
        size=one.size, content_type=one.content_type or None, user=_notes(one.user)
    ).to_json()
    spec = _object_spec(one.id, one.kind)
    return {"spec": spec, "info": info, "location": location, "cache_hint": True}


def _task_spec(call: Call) -> TaskSpec:
    kind = call.kind
    labels = kind.input_labels or ("",) * len(call.inputs)
    return TaskSpec(
        unpack(call.task),
        kind.task_type,
        _config(kind.task_type, call.config),
        [
            TaskSpecInput(unpack(one.id), label or None)
            for one, label in zip(call.inputs, labels, strict=True)
        ],
        [unpack(output) for output, _ in call.outputs],
        dict(kind.resources.items()),
        kind.name or None,
        _notes(kind.user),
    )


def _object_spec(object_id: ObjectId, kind: ObjectKind) -> dict[str, Any]:
    return ObjectSpec(
        unpack(object_id),
        kind.label or None,
        kind.content_type or None,
        kind.data_type.value,
        _notes(kind.user),
    ).to_json()


def _config(task_type: str, packed: bytes) -> Any:
    """Returns the config in the form of Rain 0.4; the config of our Python tasks is msgpack."""
    if not packed:
        return None
    try:
        if task_type.partition("/")[0] != PYTHON:
            return json.loads(packed)
        config: Mapping[str, Any] = msgpack.unpackb(packed)
        return {
            "args": [base64.b64encode(arg).decode() for arg in config["args"]],
            "kwargs": {
                name: base64.b64encode(arg).decode() for name, arg in config["kwargs"].items()
            },
            "encode_outputs": config["encode_outputs"],
        }
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        msgpack.UnpackException,
    ) as error:
        raise UncallableError(
            f"the configuration of a {task_type!r} task cannot be read: {error}"
        ) from None


def _notes(encoded: str) -> dict[str, Any]:
    notes: dict[str, Any] = json.loads(encoded) if encoded else {}
    return notes
