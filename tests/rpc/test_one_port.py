"""One port for everything: what speaks HTTP goes to the room for it, and nothing else does."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import pytest
import trio

from rain.base.admission import MAGIC, MemberKind, Role, Secret
from rain.base.errors import StartError
from rain.base.first_byte import http_refusal
from rain.base.wire.requests import OpenSession
from rain.daemon import program
from rain.rpc import listener as listening
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handshake import send_all
from rain.rpc.server_endpoint import PeerLimits
from rain.stream.sockets import Connected
from rain.tls.keys import Keys
from tests.rpc.fakes import FakeServer, Serving, serving
from tests.support.tls import identity, keys_of

SERVER, CLIENT = identity(MemberKind.SERVER), identity(MemberKind.CLIENT)
SECRET = Secret.of("correct-horse-battery-staple")
KEYS = Keys(SECRET)
REQUEST = b"GET /status HTTP/1.1\r\nhost: x\r\n\r\n"


def with_server(
    scene: Callable[[Serving], Awaitable[None]], keys: Keys = KEYS, **options: Any
) -> None:
    async def main() -> int:
        async with serving(FakeServer(), keys=keys, **options) as here:
            await scene(here)
        return 0

    program.run(main)


def all_that_comes(connected: socket.socket) -> bytes:
    """Until the end; "" too if the end is a reset."""
    came = b""
    try:
        while piece := connected.recv(1 << 16):
            came += piece
    except ConnectionResetError:
        pass
    return came


async def say(port: int, *pieces: bytes) -> bytes:
    """Says these pieces one by one, and hears all that comes until the end."""

    def run() -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connected.sendall(piece)
            return all_that_comes(connected)

    return await trio.to_thread.run_sync(run)


async def say_encrypted(port: int, said: bytes, context: ssl.SSLContext) -> bytes:
    def run() -> bytes:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=30) as bare,
            context.wrap_socket(bare, server_hostname="localhost") as connected,
        ):
            connected.sendall(said)
            return all_that_comes(connected)

    return await trio.to_thread.run_sync(run)


async def still_serves(here: Serving, keys: Keys = KEYS) -> None:
    def ask() -> None:
        client = ClientConnection("127.0.0.1", here.port, keys=keys)
        client.ask(OpenSession("x"))
        client.close()

    await trio.to_thread.run_sync(ask)


async def repeat(connected: Connected, came: bytes) -> None:
    """A room for HTTP that says again what it hears, once it is a whole head."""
    take = getattr(connected, "take", None) or connected.recv
    while not came.endswith(b"\r\n\r\n"):
        try:
            came += take(100)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(connected)
    await send_all(connected, came)
    connected.close()


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 10, len(REQUEST) - 1])
def test_no_byte_is_lost_wherever_the_first_ones_are_cut(cut: int) -> None:
    async def scene(here: Serving) -> None:
        here.listener.http = repeat
        assert await say(here.port, REQUEST[:cut], REQUEST[cut:]) == REQUEST
        assert await say(here.port, *(REQUEST[i : i + 1] for i in range(len(REQUEST)))) == REQUEST
        await still_serves(here)

    with_server(scene)


def test_inside_of_tls_it_is_the_same_and_http_needs_no_certificate() -> None:
    async def scene(here: Serving) -> None:
        here.listener.http = repeat
        browser = ssl.create_default_context(cafile=keys_of() / "client.pem")
        assert await say_encrypted(here.port, REQUEST, browser) == REQUEST
        await still_serves(here, Keys(identity=CLIENT))

    with_server(scene, Keys(identity=SERVER))


@pytest.mark.parametrize("role", Role)
def test_a_peer_without_certificate_is_refused_by_name(
    role: Role, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(here: Serving) -> None:
        here.listener.http = repeat
        browser = ssl.create_default_context(cafile=keys_of() / "client.pem")
        hello = MAGIC + role.value + b"\0" + bytes(32)
        heard = await say_encrypted(here.port, hello, browser)
        assert heard[:1] == b"x"
        assert f"a {role.name.lower()} needs a certificate of the cluster here" in heard.decode(
            errors="replace"
        )

    with_server(scene, Keys(SECRET, SERVER))
    assert "it has none" in caplog.text


def test_without_http_nobody_gets_through_tls_without_certificate(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(here: Serving) -> None:
        browser = ssl.create_default_context(cafile=keys_of() / "client.pem")
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
            await say_encrypted(here.port, REQUEST, browser)

    with_server(scene, Keys(identity=SERVER))
    assert "it has no certificate" in caplog.text


def test_a_browser_is_told_that_no_http_is_served() -> None:
    async def scene(here: Serving) -> None:
        heard = await say(here.port, REQUEST)
        assert heard.startswith(b"HTTP/1.1 404 Not Found\r\n")
        assert heard.endswith(
            b"\r\n\r\nthis is the port of a Rain server, and it serves no HTTP here\n"
        )

    with_server(scene)


def test_a_browser_that_does_not_encrypt_is_told_to(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(here: Serving) -> None:
        here.listener.http = repeat
        heard = await say(here.port, REQUEST)
        assert heard.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"write https:// instead of http://" in heard
        await still_serves(here, Keys(identity=CLIENT))

    with_server(scene, Keys(identity=SERVER))
    (line,) = [
        entry.getMessage() for entry in caplog.records if "not admitted" in entry.getMessage()
    ]
    assert "it was told to write https://" in line


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", ""),
        (b"r", ""),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03",
            "it encrypts, and this side was started without --tls",
        ),
        (b"\0" * 100, "it does not speak the protocol of this version of Rain"),
        (b"rubbish, rubbish", "it does not speak the protocol of this version of Rain"),
        (b"get / http/1.0\r\n\r\n", "it does not speak the protocol of this version of Rain"),
    ],
)
def test_what_is_nothing_of_ours_is_closed_with_one_line_at_most(
    said: bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    # OpenSSL says of such an answer that it has a wrong version number, and so do browsers
    encrypts = said[:1] == b"\x16"
    answered = http_refusal(HTTPStatus.BAD_REQUEST, listening.NOT_ENCRYPTED) if encrypts else b""

    async def scene(here: Serving) -> None:
        here.listener.http = repeat

        def run() -> None:
            with socket.create_connection(("127.0.0.1", here.port), timeout=30) as connected:
                connected.sendall(said)
                with suppress(OSError):  # it may be closed already
                    connected.shutdown(socket.SHUT_WR)
                assert all_that_comes(connected) == answered

        await trio.to_thread.run_sync(run)
        await still_serves(here)

    with_server(scene)
    lines = [entry.getMessage() for entry in caplog.records if "a peer from" in entry.getMessage()]
    assert len(lines) == (1 if words else 0)
    assert all(words in line for line in lines)


@pytest.mark.parametrize("said", [b"", MAGIC[:1]])
def test_one_that_says_too_little_is_closed_and_told_of_unless_a_browser_may_have_opened_it(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(here: Serving) -> None:
        here.listener.http = repeat
        with socket.create_connection(("127.0.0.1", here.port), timeout=30) as connected:
            connected.sendall(said)  # it is there when the connection is accepted
            assert await trio.to_thread.run_sync(all_that_comes, connected) == b""

    with_server(scene, limits=PeerLimits(0.2))
    warned = [entry.getMessage() for entry in caplog.records if entry.levelname == "WARNING"]
    assert any("did not identify itself in time" in line for line in warned) == (said != b"")


def test_http_connections_do_not_take_the_places_of_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_NEW", 2)

    async def scene(here: Serving) -> None:
        served, slow = 0, trio.Event()

        async def keep(connected: Connected, _: bytes) -> None:
            nonlocal served
            served += 1
            if served == 20:
                slow.set()
            await trio.sleep_forever()

        here.listener.http = keep
        new = socket.create_connection(("127.0.0.1", here.port))
        opened = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(20)]
        for one in opened:
            one.sendall(b"G")
        await slow.wait()
        await still_serves(here)
        new.setblocking(False)
        for one in (new, *opened):
            one.close()

    with_server(scene)


def test_a_client_at_a_port_for_http_alone_is_told_so() -> None:
    async def scene(here: Serving) -> None:
        def run() -> None:
            with socket.create_server(("127.0.0.1", 0)) as alone:

                def answer() -> None:
                    connected, _ = alone.accept()
                    with connected:
                        connected.recv(100)
                        connected.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        all_that_comes(connected)

                answering = threading.Thread(target=answer)
                answering.start()
                with pytest.raises(StartError, match="it speaks HTTP only: name the port of the"):
                    ClientConnection("127.0.0.1", alone.getsockname()[1], keys=KEYS)
                answering.join()

        await trio.to_thread.run_sync(run)

    with_server(scene)
