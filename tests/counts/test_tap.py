"""The tap of the whole counting test counts right."""

import socket

import pytest

from rain.base.ids import SessionId
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.rpc.codec import to_bytes
from tests.support.tap import MessageCounter, Tap

CALL = to_bytes(Orders(forget_sessions=[SessionId(1), SessionId(2)]))
NEWS = to_bytes(Update())
MESSAGES = [CALL, NEWS, NEWS, CALL]


@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_messages_are_counted_however_they_are_cut(size: int) -> None:
    counter = MessageCounter(introduction=5)
    stream = b"hello" + b"".join(MESSAGES)

    for start in range(0, len(stream), size):
        counter.feed(stream[start : start + size])

    assert counter.messages == len(MESSAGES)
    assert counter.bytes == len(stream)


def test_both_ends_of_a_connection_may_be_found_closed_with_one_look() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        tap = Tap("{}:{}".format(*server.getsockname()))
        caller = socket.create_connection(("127.0.0.1", tap.port))
        assert tap.step()  # it connects them
        called, _ = server.accept()

        caller.close()
        called.close()
        assert tap.step()
        assert not tap.open_count
        tap.close()
