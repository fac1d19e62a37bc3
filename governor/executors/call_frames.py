"""Frames from the governor to a Python executor (see rain/base/executor_protocol.py)."""

from __future__ import annotations

from typing import Any, Final

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.kinds import ObjectKind, TaskKind
from rain.governor.core.effects import CallExecutor, DropCached

_NONE: Final = ()
_pack = msgpack.Packer(autoreset=True).pack


def calls_frame(effect: CallExecutor, epoch: int) -> bytes:
    """Encodes calls and what the executor needs to read them. The rows are sent as they are."""
    frame: list[Any] = [
        protocol.CALLS,
        epoch,
        [_task_kind(kind) for kind in effect.task_kinds] if effect.task_kinds else _NONE,
        [_object_kind(kind) for kind in effect.object_kinds] if effect.object_kinds else _NONE,
        effect.remembered,
        effect.calls,
        effect.gpus,
    ]
    return _pack(frame)


def drop_frame(effect: DropCached) -> bytes:
    """Encodes the list of objects and sessions that the executor may forget."""
    return _pack([protocol.DROP, effect.objects, effect.sessions])


def _task_kind(kind: TaskKind) -> protocol.TaskKindRow:
    return protocol.TaskKindRow(
        kind.id,
        kind.task_type,
        kind.name,
        list(kind.resources.items()),
        list(kind.input_labels),
        list(kind.outputs),
        kind.user,
        kind.attempts.retry_on,
    )


def _object_kind(kind: ObjectKind) -> protocol.ObjectKindRow:
    return protocol.ObjectKindRow(
        kind.id, kind.label, kind.content_type, kind.data_type.value, kind.user
    )
