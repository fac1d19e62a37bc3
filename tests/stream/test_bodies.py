"""Several bodies are sent as one, and what is small leaves together."""

from __future__ import annotations

import socket
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from rain.stream.bodies import SENT_TOGETHER, Joined, OfMemory
from rain.stream.sockets import Connected

lengths = st.sampled_from([0, 1, 1000, SENT_TOGETHER - 1, SENT_TOGETHER, SENT_TOGETHER + 1])


class Wire:
    """Takes what is sent, and remembers in which pieces of memory it was."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.memories: list[object] = []

    def sendall(self, data: bytes | memoryview) -> None:
        self.calls.append(bytes(data))
        self.memories.append(memoryview(data).obj)

    def connected(self) -> Connected:
        return cast("socket.socket", self)


def of_lengths(*some: int) -> tuple[Joined, bytes]:
    data = [bytes([number + 1]) * length for number, length in enumerate(some)]
    return Joined([OfMemory(one) for one in data]), b"".join(data)


@given(st.lists(lengths, max_size=6), st.data())
def test_the_bytes_between_two_places_are_sent(some: list[int], draw: Any) -> None:
    joined, data = of_lengths(*some)
    start = draw.draw(st.integers(0, joined.length))
    length = draw.draw(st.integers(0, joined.length - start))
    wire, notes = Wire(), list[int]()
    joined.send(wire.connected(), start, length, notes.append)
    assert b"".join(wire.calls) == data[start : start + length]
    assert all(wire.calls)
    assert notes[-1:] == ([length] if length else [])


def test_small_bodies_leave_together() -> None:
    joined, _ = of_lengths(*[SENT_TOGETHER // 4] * 10)
    wire = Wire()
    joined.send(wire.connected(), 0, joined.length)
    assert [len(call) for call in wire.calls] == [SENT_TOGETHER, SENT_TOGETHER, SENT_TOGETHER // 2]


def test_all_that_is_small_passes_through_the_same_memory() -> None:
    """New memory for each call has to be cleared by the kernel, page by page."""
    joined, _ = of_lengths(*[SENT_TOGETHER // 2 + 1] * 20)
    wire = Wire()
    joined.send(wire.connected(), 0, joined.length)
    assert len(wire.memories) == 20
    assert all(memory is wire.memories[0] for memory in wire.memories)
