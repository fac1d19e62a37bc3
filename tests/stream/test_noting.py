"""Watchers of a transfer are told of its bytes while they move, plain and encrypted."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from rain.stream import sockets
from rain.stream.memory import blank_bytes, fill
from rain.stream.sockets import BUFFER, Connected, Note, receive_file, send_file, send_noting
from tests.support.tls import encrypted_pair

SIZE = 4 * BUFFER
DATA = os.urandom(SIZE)
START = 3 * BUFFER


@contextmanager
def a_pair(way: str) -> Generator[tuple[Connected, Connected]]:
    here, there = socket.socketpair()
    with here, there:
        yield encrypted_pair(here, there) if way == "encrypted" else (here, there)


def give(connected: Connected, note: Note) -> None:
    send_noting(connected, DATA, note)


def give_file(connected: Connected, note: Note) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(DATA)
        file.flush()
        send_file(connected, file.fileno(), 0, SIZE, note)


@pytest.mark.parametrize("way", ["plain", "encrypted"])
@pytest.mark.parametrize("sends", [give, give_file])
def test_bytes_that_leave(sends: Callable[[Connected, Note], None], way: str) -> None:
    told: list[int] = []
    with a_pair(way) as (here, there):
        sender = threading.Thread(target=sends, args=(here, told.append))
        sender.start()
        got = blank_bytes(SIZE)
        fill(there, got)
        sender.join()
    assert got == DATA
    assert len(told) >= SIZE // BUFFER
    assert told == sorted(told)
    assert told[-1] == SIZE


@pytest.mark.parametrize("way", ["plain", "encrypted"])
@pytest.mark.parametrize("into", ["bytes", "file"])
def test_bytes_that_arrive_behind_those_that_are_there(into: str, way: str) -> None:
    told: list[int] = []
    with a_pair(way) as (here, there), tempfile.TemporaryFile() as file:
        rest = DATA[START:]
        sender = threading.Thread(target=sockets.send, args=(here, rest))
        sender.start()
        if into == "bytes":
            got = blank_bytes(SIZE)
            fill(there, got, START, told.append)
        else:
            file.truncate(SIZE)
            receive_file(there, file.fileno(), SIZE, START, told.append)
            got = file.read()
        sender.join()
    assert got[START:] == rest
    assert told == sorted(told)
    assert told[0] > START
    assert told[-1] == SIZE
