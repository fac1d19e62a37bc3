"""Kinds are read as they were written, and none is packed twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rain.base.constraints import Constraints
from rain.base.errors import ProtocolError
from rain.base.ids import KindId, SessionId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import ONE_CPU, Resources
from rain.base.wire import Orders, Submission
from rain.rpc.codec import from_bytes, kinds, to_bytes
from rain.rpc.codec.kinds import packed_kinds, write_kinds
from rain.rpc.codec.words import read_words
from tests.rpc.codec.kind_bytes import OBJECT, TASK, K, afresh, pack, read_object, read_task
from tests.rpc.values import object_kinds, some_orders, submissions, task_kinds


@given(task_kinds)
def test_a_kind_of_tasks_is_read_as_it_was_written(kind: TaskKind) -> None:
    (packed,) = packed_kinds([kind])
    assert read_task(packed) == kind


@given(object_kinds)
def test_a_kind_of_objects_is_read_as_it_was_written(kind: ObjectKind) -> None:
    (packed,) = packed_kinds([kind])
    assert read_object(packed) == kind


def test_the_fields_travel_in_their_order() -> None:
    task = TaskKind(
        KindId(12),
        "py/",
        "name",
        Resources.of({"cpus": 2}),
        ("label",),
        (KindId(11),),
        "notes",
        0.5,
        Constraints(("host",), "a", "b"),
        3,
    )
    object_kind = ObjectKind(KindId(11), "label", "text", user="notes", size_hint=5)
    assert packed_kinds([task]) == [pack(TASK)]
    assert packed_kinds([object_kind]) == [pack(OBJECT)]


def test_what_says_nothing_is_read_as_such() -> None:
    kind = read_task(pack([12, "py/", "", ["cpus", 1], [], [], "", 0.0, [], "", "", 1]))
    assert kind == TaskKind(KindId(12), "py/")
    assert kind.resources is ONE_CPU
    assert kind.constraints is None


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.just("cpus")
)
anything = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4), max_leaves=6)


@st.composite
def rows(draw: st.DrawFn, row: list[Any]) -> bytes:
    """A row that is right but for some fields and perhaps a byte, which may be anything."""
    values = [value if draw(st.integers(0, 5)) else draw(anything) for value in row]
    content = bytearray(pack(values))
    if draw(st.booleans()):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content)


@given(st.binary(max_size=60) | rows(TASK))
def test_any_bytes_are_a_kind_of_tasks_or_the_senders_fault(content: bytes) -> None:
    with suppress(ProtocolError):
        _is_read_again(read_task(content), read_task)


@given(st.binary(max_size=60) | rows(OBJECT))
def test_any_bytes_are_a_kind_of_objects_or_the_senders_fault(content: bytes) -> None:
    with suppress(ProtocolError):
        _is_read_again(read_object(content), read_object)


def _is_read_again(kind: K, read: Callable[[bytes], K]) -> None:
    """What was read is written to something that reads the same."""
    (packed,) = packed_kinds([afresh(kind)])
    assert read(packed) == kind


# Another writer of msgpack takes more bytes for the same; they are as good as ours.
OTHER_TASK = pack(TASK).replace(b"\x0c", b"\xcf" + (12).to_bytes(8, "big"), 1)
OTHER_OBJECT = pack(OBJECT).replace(b"\x0b", b"\xd3" + (11).to_bytes(8, "big"), 1)


def test_kinds_are_passed_on_in_the_very_bytes_in_which_they_came() -> None:
    # given: a client that writes kinds in a way of its own
    ours = Submission(SessionId(1), [read_task(OTHER_TASK)], [read_object(OTHER_OBJECT)])
    assert ours.task_kinds[0] == read_task(pack(TASK))
    received = from_bytes(Submission, to_bytes(ours))

    # when
    orders = to_bytes(Orders(task_kinds=received.task_kinds, object_kinds=received.object_kinds))

    # then
    assert OTHER_TASK + OTHER_OBJECT in orders


def test_a_copy_with_other_fields_does_not_travel_in_the_old_bytes() -> None:
    kind = read_task(pack(TASK))
    (packed,) = packed_kinds([evolve(kind, name="other")])
    assert read_task(packed).name == "other"


def counting(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is packed from now on."""
    packed: list[object] = []
    pack_really: Callable[[object], bytes] = vars(kinds)["_pack"]

    def pack_and_count(row: object) -> bytes:
        packed.append(row)
        return pack_really(row)

    monkeypatch.setattr(kinds, "_pack", pack_and_count)
    return packed


def test_a_kind_that_was_made_here_is_packed_once_for_a_hundred_governors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = counting(monkeypatch)
    task_kind, object_kind = afresh(read_task(pack(TASK))), afresh(read_object(pack(OBJECT)))

    messages = {
        to_bytes(Orders(task_kinds=[task_kind], object_kinds=[object_kind])) for _ in range(100)
    }

    assert len(messages) == 1
    assert [*map(pack, packed)] == [pack(TASK), pack(OBJECT)]


def test_a_kind_that_came_is_never_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = counting(monkeypatch)
    to_bytes(Orders(task_kinds=[read_task(pack(TASK))], object_kinds=[read_object(pack(OBJECT))]))
    assert packed == []


@given(submissions | some_orders())
def test_with_kinds_a_message_is_laid_out_as_any_other(value: Submission | Orders) -> None:
    """pycapnp sees only orders with texts."""
    if isinstance(value, Orders):
        for objects in (value.objects, value.lent):
            objects.content_types = [""] * len(objects.ids)
        value.objects.sources = [""] * len(value.objects.ids)
    assert read_words(to_bytes(value)) is not None


def test_the_numbers_about_kinds_are_how_many_are_of_tasks_and_all_lengths() -> None:
    first, second = read_task(pack(TASK)), read_object(pack(OBJECT))
    numbers, pieces = write_kinds([first], [second, second])
    assert numbers == [1, len(pack(TASK)), len(pack(OBJECT)), len(pack(OBJECT))]
    assert b"".join(pieces) == pack(TASK) + 2 * pack(OBJECT)
