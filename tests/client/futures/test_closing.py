# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import concurrent.futures
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from rain.base.errors import ConnectionLostError
from rain.client import Client, ConnectionException
from tests.client.fake import world


def test_a_call_that_was_not_sent_when_its_client_is_closed_has_failed() -> None:
    with world() as w:
        w.client.submit(int)
        w.server.errors["submit"] = ConnectionLostError("it was closed")
        future = w.client.submit(int)
        w.client.close()
        assert concurrent.futures.wait([future], 60).done
        assert isinstance(future.exception(), ConnectionException)


def test_a_callback_of_a_call_that_fails_by_the_end_of_its_client_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with world() as w:
        future = w.client.submit(int)
        w.client.open_futures().sending.send()
        called: SimpleQueue[object] = SimpleQueue()
        future.add_done_callback(called.put)
        _, then = w.server.followed[-1]
        monkeypatch.setattr(w.server, "close", lambda: then(ConnectionLostError("it was closed")))
        w.client.close()
        assert called.get(timeout=60) is future
        assert isinstance(future.exception(), ConnectionException)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.submit(int),
        lambda client: client.map(int, ["1"]),
        lambda client: client.put(1),
        lambda client: client.executor().submit(int),
    ],
)
def test_a_closed_client_refuses_calls_at_once(call: Callable[[Client], object]) -> None:
    with world() as w:
        w.client.submit(int)
        w.client.close()
        with pytest.raises(ConnectionException, match="the client is closed"):
            call(w.client)


def test_cancelling_a_call_whose_server_is_lost_says_that_it_is_lost() -> None:
    with world() as w:
        future = w.client.submit(int)
        w.server.errors["cancel"] = ConnectionLostError("the server has gone")
        with pytest.raises(ConnectionException, match="the server has gone"):
            future.cancel()
