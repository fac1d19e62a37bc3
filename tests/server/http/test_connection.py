"""How HTTP connections begin, go on and end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, closing
from http import HTTPStatus
from pathlib import Path
from typing import TypeAlias

import pytest
import trio
from attrs import Factory, define

from rain.base.errors import StartError
from rain.base.wire.requests import OpenSession
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.server.core.state import State
from rain.server.history.keeper import HistorySettings, open_history
from rain.server.http import listener
from rain.server.http.connection import Answer
from rain.server.http.listener import serve_alone
from rain.server.http.messages import HttpRequest, Response, text
from rain.server.http.site import HttpSite
from tests.server.http.asking import Use, ask, serving, serving_alone
from tests.support.logs import capturing_logger

Serve: TypeAlias = Callable[[Answer, Use], None]


@pytest.fixture(name="serving", params=[serving, serving_alone])
def _serving(request: pytest.FixtureRequest) -> Serve:
    """At the server's port, and at a port for HTTP alone."""
    way: Serve = request.param
    return way


async def _echo(request: HttpRequest) -> Response:
    await trio.lowlevel.checkpoint()
    return text(HTTPStatus.OK, f"{request.method} {request.path} {request.body.decode()}")


async def _raw(address: str, sent: bytes) -> bytes:
    """Sends bytes, and gets all that comes until the end."""
    name, _, port = address.rpartition(":")
    stream = await trio.open_tcp_stream(name, int(port))
    async with stream:
        await stream.send_all(sent)
        came = b""
        while piece := await stream.receive_some():
            came += piece
        return came


def test_one_connection_carries_several_requests(serving: Serve) -> None:
    async def use(address: str) -> None:
        first = b"POST /a?b=c HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello"
        second = b"GET /d HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        came = await _raw(address, first + second)
        assert came.count(b"HTTP/1.1 200 OK") == 2
        assert b"\r\n\r\nPOST /a hello\n" in came
        assert came.endswith(b"\r\n\r\nGET /d \n")

    serving(_echo, use)


def test_a_body_in_chunks_and_a_careful_peer_are_understood(serving: Serve) -> None:
    async def use(address: str) -> None:
        chunks = (
            b"POST /a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        name, _, port = address.rpartition(":")
        async with await trio.open_tcp_stream(name, int(port)) as stream:
            await stream.send_all(chunks)
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 100")
            await stream.send_all(b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
            came = b""
            while piece := await stream.receive_some():
                came += piece
        assert came.endswith(b"POST /a hello\n")

    serving(_echo, use)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"This is no HTTP\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # without a host
        (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 40_000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999\r\n\r\n" + b"b" * 99_999, b"413"),
    ],
)
def test_what_is_no_request_or_too_large_is_told_and_closed(
    serving: Serve, sent: bytes, status: bytes
) -> None:
    async def use(address: str) -> None:
        came = await _raw(address, sent)
        assert came.startswith(b"HTTP/1.1 " + status)
        assert b"connection: close" in came.lower()
        assert (await ask(address, "GET", "/still")).body == b"GET /still \n"

    serving(_echo, use)


def test_peers_that_vanish_at_any_moment_end_only_their_own_connection(serving: Serve) -> None:
    async def use(address: str) -> None:
        name, _, port = address.rpartition(":")
        request = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello"
        for length in (0, 1, 30, len(request) - 1, len(request)):
            stream = await trio.open_tcp_stream(name, int(port))
            stream.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0"
            )  # its end is a reset
            await stream.send_all(request[:length])
            await trio.aclose_forcefully(stream)
        assert (await ask(address, "GET", "/still")).status == 200

    serving(_echo, use)


def test_a_silent_peer_is_closed(serving: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rain.server.http.connection.PATIENCE", 0.05)

    async def use(address: str) -> None:
        assert await _raw(address, b"GET / HTTP/1.1\r\n") == b""

    serving(_echo, use)


def test_the_head_of_a_request_must_come_sooner_than_its_body(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n"

    async def answer(request: HttpRequest) -> Response:
        # From now on, so that no first request has to hurry.
        monkeypatch.setattr("rain.server.http.connection.HEAD_PATIENCE", 0.05)
        return await _echo(request)

    async def use(address: str) -> None:
        name, _, port = address.rpartition(":")
        idle = await trio.open_tcp_stream(name, int(port))
        slow = await trio.open_tcp_stream(name, int(port))
        late = await trio.open_tcp_stream(name, int(port))
        async with idle, slow, late:
            for stream in (idle, slow, late):
                await stream.send_all(head + b"first")
                assert b"POST /a first" in await stream.receive_some()
            await slow.send_all(head)
            # what has only begun is closed, as the first request of a connection and as the second
            assert await _raw(address, head[:-2]) == b""
            await late.send_all(head[:-2])
            assert await late.receive_some() == b""
            # and the limit, which has passed, is none for the body, nor between two requests
            await slow.send_all(b"hello")
            assert b"POST /a hello" in await slow.receive_some()
            await idle.send_all(head + b"again")
            assert b"POST /a again" in await idle.receive_some()

    serving(answer, use)


async def _from(source: str, address: str) -> trio.SocketStream:
    name, _, port = address.rpartition(":")
    return await trio.open_tcp_stream(name, int(port), local_address=source)


@pytest.mark.parametrize("sources", [1, 8])
def test_a_flood_of_some_addresses_pushes_out_no_slow_one_of_another(
    serving: Serve, sources: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rain.server.http.connection.HEAD_PATIENCE", 60.0)  # not what closes them

    async def use(address: str) -> None:
        async with AsyncExitStack() as stack:
            slow = await _from("127.0.0.2", address)
            stack.push_async_callback(trio.aclose_forcefully, slow)
            await slow.send_all(b"GET /slow HTTP/1.1\r\n")
            for number in range(160):
                flooding = await _from(f"127.0.0.{3 + number % sources}", address)
                stack.push_async_callback(trio.aclose_forcefully, flooding)
                await flooding.send_all(b"G")
            assert (await ask(address, "GET", "/other")).status == 200
            await slow.send_all(b"host: x\r\n\r\n")
            assert b"GET /slow" in await slow.receive_some()

    serving(_echo, use)


def test_an_address_keeps_few_connections_without_a_request(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rain.server.http.connection.HEAD_PATIENCE", 60.0)  # not what closes them

    async def use(address: str) -> None:
        async with AsyncExitStack() as stack:
            opened: list[trio.SocketStream] = []
            for _ in range(listener.MOST_WAITING + 1):
                opened.append(await _from("127.0.0.1", address))
                stack.push_async_callback(trio.aclose_forcefully, opened[-1])
                await opened[-1].send_all(b"GET /a")
            assert await opened[0].receive_some() == b""
            await opened[-1].send_all(b" HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"GET /a" in await opened[-1].receive_some()

    serving(_echo, use)


@define(eq=False)
class _Endless:
    """A body without an end that counts its pieces."""

    pieces: int = 0
    closed: trio.Event = Factory(trio.Event)

    async def next(self) -> bytes | None:
        await trio.lowlevel.checkpoint()
        self.pieces += 1
        return b"x" * 100_000

    def close(self) -> None:
        self.closed.set()


def test_for_a_reader_that_stalls_no_more_is_made_and_at_last_it_is_closed(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rain.server.http.connection.PATIENCE", 0.2)
    body = _Endless()

    async def answer(_: HttpRequest) -> Response:
        await trio.lowlevel.checkpoint()
        return Response(HTTPStatus.OK, "text/plain", body)

    async def use(address: str) -> None:
        name, _, port = address.rpartition(":")
        stalled = await trio.open_tcp_stream(name, int(port))
        async with stalled:
            await stalled.send_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert (await stalled.receive_some(10)).startswith(b"HTTP/1.1")
            await body.closed.wait()
            assert body.pieces < 500  # what the two sockets hold, and one

    serving(answer, use)


def test_more_connections_than_the_limit_are_turned_away_while_all_are_answered(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 1)
    asked, released = trio.Event(), trio.Event()

    async def slow(request: HttpRequest) -> Response:
        asked.set()
        await released.wait()
        return await _echo(request)

    async def use(address: str) -> None:
        name, _, port = address.rpartition(":")
        first = await trio.open_tcp_stream(name, int(port))
        async with first:
            await first.send_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n")
            await asked.wait()
            assert (await _raw(address, b"GET / HTTP/1.1\r\n")).startswith(b"HTTP/1.1 503")
            released.set()
            assert b"GET /a" in await first.receive_some()

    serving(slow, use)


def _register(address: str) -> None:
    client = ClientConnection("127.0.0.1", int(address.rpartition(":")[2]))
    assert client.ask(OpenSession("x")) == 1
    client.close()


def test_slow_requests_keep_no_peer_of_the_same_port_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rain.server.http.connection.HEAD_PATIENCE", 60.0)  # not what closes them

    async def use(address: str) -> None:
        async with AsyncExitStack() as stack:
            for number in range(200):
                slow = await _from(f"127.0.0.{2 + number % 16}", address)
                stack.push_async_callback(trio.aclose_forcefully, slow)
                await slow.send_all(b"GET /slow HTTP/1.1\r\n"[: 1 + number % 20])
            await trio.to_thread.run_sync(_register, address)

    serving(_echo, use)


def test_a_peer_at_a_port_for_http_alone_is_told_so() -> None:
    async def use(address: str) -> None:
        def register() -> None:
            with pytest.raises(StartError, match="this is a port for HTTP alone: name the port of"):
                _register(address)

        await trio.to_thread.run_sync(register)
        assert b"write http:// instead" in await _raw(address, b"\x16\x03\x01\x02\x00\x01\x00")
        assert (await ask(address, "GET", "/still")).status == 200

    serving_alone(_echo, use)


def test_an_address_that_is_taken_is_refused_by_name() -> None:
    async def main() -> None:
        log, _ = capturing_logger()
        async with serve_alone(("127.0.0.1", 0), _echo, log) as address:
            port = int(address.rpartition(":")[2])
            with pytest.raises(StartError, match=r"cannot listen on 127\.0\.0\.1:.*--http-l"):
                async with serve_alone(("127.0.0.1", port), _echo, log):
                    pass

    trio.run(main)


def test_an_error_with_a_name_comes_out_of_the_block_as_itself() -> None:
    async def main() -> None:
        log, _ = capturing_logger()
        async with serve_alone(("127.0.0.1", 0), _echo, log):
            raise StartError("no")

    with pytest.raises(StartError, match="no"):
        trio.run(main)


def _in_the_server(use: Callable[[str], Awaitable[None]], folder: Path, state: State) -> None:
    """The log and HTTP as the server program has them: in one loop."""

    async def main() -> int:
        log, _ = capturing_logger()
        with trio.fail_after(60):
            async with open_history(HistorySettings(folder), state, lambda: 1000.0, log) as events:
                site = HttpSite.of(state, events, lambda: 1000.0, log)
                async with serve_alone(("127.0.0.1", 0), site.answer, log) as address:
                    await use(address)
        return 0

    assert program.run(main) == 0


def test_it_serves_and_stops_with_open_connections(tmp_path: Path) -> None:
    opened: list[socket.socket] = []

    async def use(address: str) -> None:
        assert (await ask(address, "POST", "/events", b"{}")).json == []
        assert (await ask(address, "GET", "/lite/")).status == 200
        name, _, port = address.rpartition(":")
        left_open = socket.create_connection((name, int(port)), timeout=20)
        opened.append(left_open)
        left_open.sendall(b"GET /status HTTP/1.1\r\nhost: x\r\n\r\n")
        assert await trio.to_thread.run_sync(left_open.recv, 100_000)

    before = threading.active_count()
    _in_the_server(use, tmp_path, State())
    with closing(opened[0]) as left_open:
        assert left_open.recv(1) == b""
    assert threading.active_count() <= before + 5  # trio keeps idle threads for a while
