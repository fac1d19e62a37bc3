"""Tests of the messages of Cap'n Proto in a stream of bytes (rain/rpc/capnproto/messages.py)."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.rpc.capnproto.messages import SEGMENTS_LIMIT, WORD, Framer

SEGMENTS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
"""The words of each segment of one message."""


def message(words: list[int]) -> bytes:
    table = struct.pack(f"<{len(words) + 1}I", len(words) - 1, *words)
    return table + bytes(-len(table) % WORD) + b"rain rpc" * sum(words)


@given(st.lists(SEGMENTS, max_size=6), st.data())
def test_messages_come_out_wherever_the_stream_was_cut(
    sizes: list[list[int]], data: st.DataObject
) -> None:
    # given
    messages = [message(words) for words in sizes]
    stream = b"".join(messages)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6).map(sorted))
    framer = Framer(1 << 20)

    # when
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += framer.feed(stream[start:end])

    # then
    assert found == messages
    assert not framer.in_piece


def test_what_was_forgotten_is_no_part_of_what_comes_next() -> None:
    framer = Framer(1 << 20)
    assert framer.feed(message([2])[:-1]) == []
    framer.forget()
    assert framer.feed(message([1])) == [message([1])]


def test_a_long_message_is_refused_as_soon_as_its_beginning_is_here() -> None:
    with pytest.raises(ProtocolError, match="16KiB; the limit is 1KiB"):
        Framer(1024).feed(message([2047])[:WORD])
    with pytest.raises(ProtocolError, match="513 segments"):
        Framer(1024).feed(struct.pack("<II", SEGMENTS_LIMIT, 0))
