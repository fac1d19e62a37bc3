"""Makes specs, infos and data instances from the rows of the governor."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.ids import unpack
from rain.common.attributes import ObjectInfo, ObjectSpec, TaskSpec, TaskSpecInput
from rain.common.content_type import merge_content_types
from rain.common.data_instance import DataInstance
from rain.executor.memory import Kinds, Memory


def task_spec(memory: Memory, kinds: Kinds, call: protocol.Call) -> TaskSpec:
    """Makes the spec of a task."""
    kind = kinds.tasks[call.kind]
    labels = kind.input_labels or [""] * len(call.inputs)
    inputs = [
        TaskSpecInput(unpack(memory.row(given).id), label or None)
        for given, label in zip(call.inputs, labels, strict=True)
    ]
    return TaskSpec(
        unpack(call.task),
        kind.task_type,
        _config(call.config),
        inputs,
        [unpack(output) for output in call.outputs],
        dict(kind.resources),
        kind.name or None,
        _user(kind.user),
    )


def _config(packed: bytes) -> dict[str, Any]:
    """Converts the config to the names and forms of Rain 0.4."""
    config: dict[str, Any] = msgpack.unpackb(packed)
    return {
        "args": [base64.b64encode(arg).decode() for arg in config["args"]],
        "kwargs": {name: base64.b64encode(arg).decode() for name, arg in config["kwargs"].items()},
        "encode_outputs": config["encode_outputs"],
    }


def input_instance(
    memory: Memory,
    kind: protocol.ObjectKindRow,
    row: protocol.CallInput,
    label: str,
    content_type: str | None,
    staged: str | None = None,
) -> DataInstance:
    """Makes the data instance of an input; an expected content type must match the real one.

    Data that is still in the stage folder is at the path `staged`.
    """
    found = row.content_type or None
    declared = kind.content_type or None
    if content_type is not None:
        declared = merge_content_types(declared, content_type)
        found = merge_content_types(found, content_type) if found else None
    label_of_all = kind.label or label or None
    spec = ObjectSpec(unpack(row.id), label_of_all, declared, kind.data_type, _user(kind.user))
    content = row.content
    path = staged
    if path is None and not isinstance(content, bytes):
        assert content is not None  # outputs of earlier calls were filled in before
        path = memory.path(content)
    return DataInstance(
        data=content if isinstance(content, bytes) else None,
        path=path,
        spec=spec,
        info=ObjectInfo(size=row.size, content_type=found, user=_user(row.user)),
    )


def _user(encoded: str) -> dict[str, Any]:
    user: dict[str, Any] = json.loads(encoded) if encoded else {}
    return user
