"""Whatever bytes come: they are read, or they are refused by name, and neither takes long."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.capnproto.messages import DEEPEST, UnreadableError
from tests.rpc.capnproto.every import EVERY, every, values

MESSAGE = Layout.of(schema.rpc.Message)
INNER, CHAIN, HOLLOW = (Layout.of(struct) for struct in (every.Inner, every.Chain, every.Hollow))
ORDERS = Layout.of(schema.governor.Orders)


def framed(*words: int) -> bytes:
    """A message of one segment."""
    return pack("<II", 0, len(words)) + pack(f"<{len(words)}Q", *words)


def struct_pointer(between: int, data: int, pointers: int) -> int:
    return (between << 2) % 2**32 | data << 32 | pointers << 48


def list_pointer(between: int, size: int, count: int) -> int:
    return 1 | (between << 2) % 2**32 | size << 32 | count << 35


@given(st.binary(max_size=300))
def test_garbage_is_unreadable(garbage: bytes) -> None:
    for layout in (EVERY, MESSAGE, ORDERS):
        with suppress(UnreadableError):
            layout.read(garbage)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_any_words_are_read_or_unreadable(words: list[int]) -> None:
    for layout in (EVERY, MESSAGE, ORDERS):
        with suppress(UnreadableError):
            layout.read(framed(*words))


@given(values, st.sampled_from([None, 1]), st.data())
def test_damaged_messages_are_read_or_unreadable(
    given_values: dict[str, Any], segment: int | None, draw: st.DataObject
) -> None:
    builder = every.Every.new_message(num_first_segment_words=segment)
    builder.from_dict(given_values)
    encoded = bytearray(builder.to_bytes())
    for _ in range(draw.draw(st.integers(1, 4))):
        encoded[draw.draw(st.integers(0, len(encoded) - 1))] = draw.draw(st.integers(0, 255))
    with suppress(UnreadableError):
        read = EVERY.read(bytes(encoded))
        read["any"].capability()
        read["any"].struct(INNER)


@given(values, st.data())
def test_what_is_cut_off_is_unreadable(given_values: dict[str, Any], draw: st.DataObject) -> None:
    message = EVERY.write(given_values)
    with pytest.raises(UnreadableError):
        EVERY.read(message[: draw.draw(st.integers(0, len(message) - 1))])


ROOT = struct_pointer(0, 0, 1)  # a struct of one pointer

THING = EVERY.slots["thing"].place

WRONG = [
    (HOLLOW, b"", "without its table of segments"),
    (HOLLOW, pack("<I", 2**32 - 1), "without its table of segments"),
    (HOLLOW, pack("<II", 0, 2) + bytes(8), "shorter than it says"),
    (HOLLOW, pack("<II", 0, 0), "a pointer out of its message"),
    (HOLLOW, framed(list_pointer(0, 2, 0)), "no struct is where one must be"),
    (HOLLOW, framed(struct_pointer(0, 0, 9)), "a pointer out of its message"),
    (HOLLOW, framed(struct_pointer(-3, 0, 1)), "a pointer out of its message"),
    (HOLLOW, framed(2 | 5 << 32), "into a segment that is not there"),
    (HOLLOW, framed(2 | 9 << 3), "a pointer out of its message"),
    (HOLLOW, framed(2), "leads nowhere"),  # to itself
    (HOLLOW, framed(ROOT, struct_pointer(-1, 0, 0)), "a list of something else"),
    (HOLLOW, framed(ROOT, list_pointer(0, 5, 0)), "a list of something else"),
    (HOLLOW, framed(ROOT, list_pointer(0, 7, 0)), "a pointer out of its message"),
    (HOLLOW, framed(ROOT, list_pointer(0, 7, 0), 4 | 1 << 32), "shorter than it says"),
    (INNER, framed(ROOT, list_pointer(0, 2, 1), 5), "a text that does not end"),
    (INNER, framed(ROOT, list_pointer(0, 2, 2), 255), "a text is not UTF-8"),
    (MESSAGE, framed(struct_pointer(0, 1, 0), 99), r"Message is something \(99\)"),
    (MESSAGE, framed(0), "too deep in each other"),  # "unimplemented" by itself, and so on
    (
        EVERY,
        framed(struct_pointer(0, 0, 15), *[0] * THING, 4, *[0] * (14 - THING)),
        "no object is where one must be",
    ),
]


@pytest.mark.parametrize(("layout", "content", "reason"), WRONG, ids=range(len(WRONG)))
def test_each_mistake_has_a_name(layout: Layout, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        layout.read(content)


def test_a_column_of_bytes_ends_with_its_message() -> None:
    layout = Layout.of(schema.client.NewTasks)
    message = bytearray(layout.write({"configs": [b"12345678", b"87654321"]}))
    place = message.index(b"12345678") - 8  # the pointer to the second one
    message[place + 4 : place + 8] = pack("<I", 2 | 9 << 3)
    with pytest.raises(UnreadableError, match="a pointer out of its message"):
        layout.read(message)


def test_structs_may_lie_in_each_other_but_not_without_end() -> None:
    chain: dict[str, Any] = {"number": 0}
    for number in range(DEEPEST // 2):
        chain = {"number": number, "next": chain}
    with pytest.raises(UnreadableError, match="Chain: structs lie too deep"):
        CHAIN.read(CHAIN.write(chain))  # whose end is a chain of defaults
    with pytest.raises(UnreadableError, match=r"too deep|again and again"):
        CHAIN.read(framed(struct_pointer(0, 1, 1), 0, struct_pointer(-2, 1, 1)))  # a ring


def test_a_short_message_does_not_become_millions_of_rows() -> None:
    """Rows without content take no room, and many pointers may lead to the same bytes."""
    with pytest.raises(UnreadableError, match="again and again"):
        HOLLOW.read(framed(ROOT, list_pointer(0, 7, 0), (2**29 - 1) << 2))

    words = 1000
    pointers = [list_pointer(words - row - 1, 2, 8 * words) for row in range(words)]
    shared = framed(
        struct_pointer(0, 0, 3), 0, 0, list_pointer(0, 6, words), *pointers, *[0] * words
    )
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError, match="again and again"):
            Layout.of(schema.client.NewTasks).read(shared)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20 * len(shared)
