"""Bytes are filled by a socket without a copy, whole or not at all."""

import os
import socket
import threading
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from rain.stream import memory
from rain.stream.memory import AHEAD_FROM, receive_bytes
from rain.stream.sockets import BrokenError
from tests.support.no_threads import refused_threads


@contextmanager
def sending(data: bytes) -> Generator[socket.socket, None, None]:
    """A socket out of which the data comes, and then its end."""
    here, there = socket.socketpair()

    def send() -> None:
        with there:
            there.sendall(data)

    sender = threading.Thread(target=send)
    sender.start()
    with here:
        yield here
        sender.join()


@pytest.mark.parametrize("length", [0, 1, 4095, 4097, 3_000_000, AHEAD_FROM + 12345])
def test_bytes_are_what_was_sent(length: int) -> None:
    data = os.urandom(length)

    with sending(data) as connected:
        received = receive_bytes(connected, length)

    assert type(received) is bytes
    assert received == data
    assert hash(received) == hash(data)


def test_bytes_arrive_without_the_thread_that_makes_their_pages() -> None:
    data = os.urandom(AHEAD_FROM)
    with sending(data) as connected, refused_threads(lambda name: name == "rain-pages") as refused:
        assert receive_bytes(connected, AHEAD_FROM) == data
    assert refused == ["rain-pages"]


def test_nothing_beyond_the_length_is_read() -> None:
    with sending(b"abcdef") as connected:
        assert receive_bytes(connected, 4) == b"abcd"
        assert connected.recv(10) == b"ef"


def test_single_bytes_are_not_those_of_others() -> None:
    with sending(b"xy") as connected:
        assert receive_bytes(connected, 1) == b"x"
        assert receive_bytes(connected, 1) == b"y"
    assert bytes([120]) == b"x"


@pytest.mark.parametrize("length", [5, AHEAD_FROM])
def test_a_stream_that_is_cut_gives_nothing(length: int) -> None:
    before = threading.active_count()

    with sending(b"abcd") as connected, pytest.raises(BrokenError, match="was cut"):
        receive_bytes(connected, length)

    assert threading.active_count() <= before, "a thread that asks for pages has not ended"


def test_there_is_one_copy_of_the_bytes_in_this_program() -> None:
    data = bytes(AHEAD_FROM)

    with sending(data) as connected:
        tracemalloc.start()
        received = receive_bytes(connected, AHEAD_FROM)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert len(received) <= most < 1.1 * len(received)


def test_a_system_that_takes_no_advice_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(address: int, length: int, advice: int) -> int:
        asked.append(advice)
        return -1

    monkeypatch.setattr(memory, "_madvise", refuse)
    data = os.urandom(AHEAD_FROM)

    with sending(data) as connected:
        assert receive_bytes(connected, AHEAD_FROM) == data
    assert len(asked) == 2, "large pages, and the first step of those ahead"


def test_advice_is_for_pages_of_these_bytes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def note(address: int, length: int, advice: int) -> int:
        asked.append((address, address + length))
        return 0

    monkeypatch.setattr(memory, "_madvise", note)

    with sending(bytes(AHEAD_FROM)) as connected:
        received = receive_bytes(connected, AHEAD_FROM)

    start = id(received) + bytes.__basicsize__ - 1
    assert asked
    for first, end in asked:
        assert start <= first < end <= start + AHEAD_FROM
        assert first % 4096 == end % 4096 == 0
