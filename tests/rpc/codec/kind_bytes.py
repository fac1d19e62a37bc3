"""Kinds as a peer writes them, rightly or not."""

from __future__ import annotations

from typing import Any, TypeVar

import msgpack
from attrs import evolve

from rain.base.kinds import ObjectKind, TaskKind
from rain.rpc.codec.kinds import read_kinds

K = TypeVar("K", TaskKind, ObjectKind)

TASK = [12, "py/", "name", ["cpus", 2], ["label"], [11], "notes", 0.5, ["host"], "a", "b", 3]
OBJECT = [11, "label", "text", "blob", "notes", 5]


def pack(row: object) -> bytes:
    packed: bytes = msgpack.packb(row)
    return packed


def read_task(content: bytes) -> TaskKind:
    ((kind,), _) = read_kinds("it", [1, len(content)], [content])
    return kind


def read_object(content: bytes) -> ObjectKind:
    (_, (kind,)) = read_kinds("it", [0, len(content)], [content])
    return kind


def afresh(kind: K) -> K:
    """The same kind, as if it was made here: without the bytes in which it came."""
    return evolve(kind)


def changed(row: list[Any], place: int, value: object) -> bytes:
    return pack([*row[:place], value, *row[place + 1 :]])
