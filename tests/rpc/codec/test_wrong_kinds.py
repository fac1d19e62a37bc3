"""What is no kind is refused by name: from a peer as its fault, and our own before it is sent."""

from __future__ import annotations

import tracemalloc
from math import inf, nan
from typing import Any

import msgpack
import pytest

from rain.base.constraints import Constraints
from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import KindId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import LARGEST
from rain.rpc.codec.kinds import MOST_ENTRIES, packed_kinds, read_kinds
from tests.rpc.codec.kind_bytes import (
    OBJECT,
    TASK,
    afresh,
    changed,
    pack,
    read_object,
    read_task,
)

WRONG_TASKS: list[tuple[int, object, str]] = [
    # Which field, what it is, and what is said about it.
    (0, True, "its id: bool instead of int"),
    (0, 1.0, "its id: float instead of "),
    (0, -1, "its id: -1 is not from 0 to"),
    (0, LARGEST + 1, "its id: 9223372036854775808 is not from 0 to"),
    (1, None, "its task type: NoneType instead of str"),
    (2, 5, "its name: int instead of "),
    (3, "cpus", "its resources: str instead of list"),
    (3, ["cpus"], "its resources: the last one has no amount"),
    (3, ["cpus", True], "its resources: bool instead of int"),
    (3, ["cpus", 1.0], "its resources: float instead of int"),
    (3, [1, 1], "its resources: int instead of str"),
    (3, [["cpus", 1], 1], "its resources: list instead of str"),
    (3, ["cpus", -1], "its resources: -1 is not"),
    (3, ["a", LARGEST + 1], "its resources: 9223372036854775808 is not"),
    (3, ["a", 1, "a", 1], "its resources: one is named twice"),
    (3, ["cpus", 1, "cpus", 2], "its resources: one is named twice"),
    (4, ["a", None], "its input labels: NoneType instead of str"),
    (5, ["a"], "its outputs: str instead of int"),
    (5, [1, False], "its outputs: bool instead of int"),
    (5, [1, -1], "its outputs: -1 is not"),
    (5, [1, LARGEST + 1], "its outputs: 9223372036854775808 is not"),
    (6, [], "its user: list instead of "),
    (7, 1, "its duration hint: int instead of float"),
    (7, nan, "its duration hint: nan"),
    (7, inf, "its duration hint: inf"),
    (7, -0.5, "its duration hint: -0.5"),
    (8, [1], "its pin: int instead of str"),
    (9, None, "its spread: NoneType instead of "),
    (10, 1, "its apart: int instead of "),
    (11, True, "its tries: bool instead of "),
    (11, -1, "its tries: -1 is not"),
    (11, 2**32, "its tries: 4294967296 is not from 0 to 4294967295"),
]

WRONG_OBJECTS: list[tuple[int, object, str]] = [
    (0, None, "its id: NoneType instead of int"),
    (0, -1, "its id: -1 is not from 0 to"),
    (1, 5, "its label: int instead of str"),
    (2, True, "its content type: bool instead of "),
    (3, 1, "its data type: int instead of "),
    (3, "file", "its data type: 'file' is none"),
    (4, 1.5, "its user: float instead of "),
    (5, True, "its size hint: bool instead of "),
    (5, -1, "its size hint: -1 is not from 0 to"),
    (5, LARGEST + 1, "its size hint: 9223372036854775808 is not"),
]


@pytest.mark.parametrize(("place", "value", "reason"), WRONG_TASKS)
def test_each_wrong_field_of_a_kind_of_tasks_is_named(
    place: int, value: object, reason: str
) -> None:
    with pytest.raises(ProtocolError, match=f"^it: task kind 0: {reason}"):
        read_task(changed(TASK, place, value))


@pytest.mark.parametrize(("place", "value", "reason"), WRONG_OBJECTS)
def test_each_wrong_field_of_a_kind_of_objects_is_named(
    place: int, value: object, reason: str
) -> None:
    with pytest.raises(ProtocolError, match=f"^it: object kind 0: {reason}"):
        read_object(changed(OBJECT, place, value))


DEEP = b"\x91" * 100_000
MANY = MOST_ENTRIES + 1

WRONG_BYTES: list[tuple[bytes, str]] = [
    (b"", "incomplete input"),
    (pack(TASK)[:-1], "incomplete input"),
    (pack(TASK) + b"\x00", "extra data"),
    (pack(TASK[:-1]), "it has 11 fields instead of 12"),
    (pack([*TASK, 0]), "it has 13 fields instead of 12"),
    (pack([]), "it has 0 fields"),
    (pack(5), "int instead of an array of fields"),
    (pack({}), "dict instead of an array of fields"),
    (pack({"id": 1}), "exceeds max_map_len"),
    (changed(TASK, 1, b"py/"), "exceeds max_bin_len"),
    (changed(TASK, 1, msgpack.ExtType(5, b"x")), "exceeds max_ext_len"),
    (pack(TASK).replace(b"py/", b"p\xff/"), "'utf-8' codec can't decode byte 0xff"),
    (b"\xc1", "it is no msgpack: FormatError"),
    (DEEP, "it is no msgpack: StackError"),
    (b"\xdd" + (6).to_bytes(4, "big"), r"6 exceeds max_array_len\(5\)"),  # than there are bytes
    (b"\xdd" + MANY.to_bytes(4, "big") + bytes(MANY), "1048577 exceeds max_array_len"),
    (b"\xdb" + b"\xff" * 4, "incomplete input"),
    (changed(TASK, 5, [[0]] * 20), "it has more arrays than fields"),
]


@pytest.mark.parametrize(("content", "reason"), WRONG_BYTES, ids=lambda value: repr(value)[:20])
def test_bytes_that_are_no_kind_are_the_senders_fault(content: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read_task(content)


def test_very_many_small_arrays_are_refused_before_they_are_there() -> None:
    """They would take a hundred times as much as the message."""
    content = b"\xdd" + (MOST_ENTRIES - 1).to_bytes(4, "big") + b"\x90" * (MOST_ENTRIES - 1)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="it has more arrays than fields"):
            read_task(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 * len(content)


def test_it_is_said_which_of_the_kinds_is_wrong() -> None:
    pieces = [pack(TASK), pack(OBJECT), changed(OBJECT, 1, None)]
    with pytest.raises(ProtocolError, match=r"^orders: object kind 1: its label"):
        read_kinds("orders", [1, *map(len, pieces)], pieces)


@pytest.mark.parametrize("of_tasks", [-1, 2, LARGEST])
def test_more_kinds_of_tasks_than_kinds_are_the_senders_fault(of_tasks: int) -> None:
    with pytest.raises(ProtocolError, match="it: the kinds: it does not say how long"):
        read_kinds("it", [of_tasks, len(pack(TASK))], [pack(TASK)])


# What users give as texts.
BYTES: Any = b"x"
SOMETHING: Any = object()
NUMBER: Any = 5

WRONG_OURS: list[tuple[TaskKind | ObjectKind, str]] = [
    (ObjectKind(KindId(1), size_hint=-1), "its size hint: -1 is not"),
    (ObjectKind(KindId(1), size_hint=2**70), "ObjectKind.*cannot be sent: Integer value out of"),
    (ObjectKind(KindId(1), label=BYTES), "exceeds max_bin_len"),
    (ObjectKind(KindId(1), label=SOMETHING), "cannot be sent: can not serialize"),
    (
        TaskKind(KindId(1), "py/", name=NUMBER),
        "TaskKind.*sent: its name: int instead of str",
    ),
    (TaskKind(KindId(1), "py/", input_labels=("",) * MANY), "exceeds max_array_len"),
]


@pytest.mark.parametrize(("kind", "reason"), WRONG_OURS)
def test_what_nobody_would_read_is_refused_by_name_before_it_is_sent(
    kind: TaskKind | ObjectKind, reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        packed_kinds([kind])
    assert packed_kinds([afresh(read_object(pack(OBJECT)))]) == [pack(OBJECT)]  # nothing is left


@pytest.mark.parametrize(
    "kind",
    [
        ObjectKind(KindId(1), "half \udce9"),
        ObjectKind(KindId(1), user="half \udce9"),
        TaskKind(KindId(1), "py/", "half \udce9"),
        TaskKind(KindId(1), "py/", input_labels=("half \udce9",)),
        TaskKind(KindId(1), "py/", constraints=Constraints(spread="half \udce9")),
    ],
)
def test_text_that_is_not_utf_8_is_not_packed(kind: TaskKind | ObjectKind) -> None:
    with pytest.raises(UnicodeEncodeError):
        packed_kinds([kind])
    assert packed_kinds([afresh(read_object(pack(OBJECT)))]) == [pack(OBJECT)]  # nothing is left
