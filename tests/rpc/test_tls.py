"""Certificates at the server's port: who is let in, who hears why not, and what is limited."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.admission import MAGIC, MemberKind, Role, Secret
from rain.base.errors import StartError
from rain.base.wire.requests import OpenSession
from rain.daemon import program
from rain.rpc import listener as listening
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.dialing import reaching
from rain.rpc.handshake import dial_tls
from rain.rpc.server_endpoint import PeerLimits
from rain.rpc.trio_dialing import dial
from rain.tls.encrypted import Encrypted
from rain.tls.identity import Identity
from rain.tls.keys import Keys
from tests.rpc.fakes import FakeControl, FakeServer, Serving, join, serving
from tests.support.tls import identity, keys_of

SECRET = Secret.of("correct-horse-battery-staple")
SERVER, GOVERNOR, CLIENT = (identity(member) for member in MemberKind)


def with_server(
    scene: Callable[[Serving], Awaitable[None]],
    ours: Identity | None = SERVER,
    secret: Secret | None = None,
    **options: Any,
) -> FakeServer:
    """Plays a scene beside a server that encrypts."""
    server = FakeServer()

    async def main() -> int:
        async with serving(server, keys=Keys(secret, ours), **options) as here:
            await scene(here)
        return 0

    program.run(main)
    return server


async def why_not(port: int, role: Role, ours: Identity | None) -> str:
    """The one line that a member hears that is not let in."""
    with pytest.raises(StartError) as caught, reaching(f"127.0.0.1:{port}", "member"):
        await dial("127.0.0.1", port, 10, role, Keys(identity=ours))
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def still_serves(here: Serving) -> None:
    def ask() -> None:
        client = ClientConnection("127.0.0.1", here.port, keys=Keys(identity=CLIENT))
        client.ask(OpenSession("x"))
        client.close()

    await trio.to_thread.run_sync(ask)


def test_clients_and_governors_with_their_certificates_work_as_ever() -> None:
    async def scene(here: Serving) -> None:
        await still_serves(here)
        upstream = await join(
            here.nursery, here.listener, FakeControl(), keys=Keys(identity=GOVERNOR)
        )
        assert upstream.is_open
        upstream.close()

    server = with_server(scene)
    assert server.journal.named("open_session")
    assert len(server.hellos) == 1


def test_a_secret_is_asked_for_inside_of_the_encryption_too() -> None:
    async def scene(here: Serving) -> None:
        connected = await dial("127.0.0.1", here.port, 10, Role.CLIENT, Keys(SECRET, CLIENT))
        connected.close()
        assert "a secret is needed" in await why_not(here.port, Role.CLIENT, CLIENT)

    with_server(scene, secret=SECRET)


@pytest.mark.parametrize(
    ("ours", "role", "words"),
    [
        (CLIENT, Role.GOVERNOR, "the certificate of a client, which does not admit a governor"),
        (GOVERNOR, Role.CLIENT, "the certificate of a governor, which does not admit a client"),
        (SERVER, Role.CLIENT, "the certificate of a server, which does not admit a client"),
        (identity(MemberKind.CLIENT, "two"), Role.CLIENT, "made by another authority than ours"),
        (None, Role.CLIENT, "everything is encrypted there: name the file of your certificate"),
    ],
)
def test_who_has_another_certificate_is_told_why_in_one_line_and_so_is_the_log(
    ours: Identity | None, role: Role, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(here: Serving) -> None:
        assert words in await why_not(here.port, role, ours)
        await still_serves(here)  # the log has been written meanwhile

    server = with_server(scene)
    assert server.hellos == []
    (line,) = [
        record.getMessage() for record in caplog.records if "not admitted" in record.getMessage()
    ]
    assert "127.0.0.1" in line


def test_one_that_encrypts_is_told_that_the_server_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(here: Serving) -> None:
        heard = await why_not(here.port, Role.CLIENT, CLIENT)
        assert "does not speak TLS; was it started without --tls?" in heard

        def ask() -> None:
            with pytest.raises(StartError, match="was it started without --tls"):
                ClientConnection("127.0.0.1", here.port, keys=Keys(identity=CLIENT))

        await trio.to_thread.run_sync(ask)

    with_server(scene, None)
    assert "it encrypts, and this side was started without --tls" in caplog.text


def test_a_client_does_not_take_a_governor_for_the_server() -> None:
    async def scene(here: Serving) -> None:
        heard = await why_not(here.port, Role.CLIENT, CLIENT)
        assert "certificate is that of a governor, and a server is expected there" in heard

    with_server(scene, GOVERNOR)


async def encrypted(port: int) -> Encrypted:
    """A connection on which only the TLS handshake has taken place."""
    bare = socket.create_connection(("127.0.0.1", port))
    bare.setblocking(False)
    connected = await dial_tls(bare, CLIENT)
    assert isinstance(connected, Encrypted)
    return connected


async def closed(connected: socket.socket | Encrypted) -> None:
    """Returns when the other side has closed the connection."""
    with suppress(ConnectionResetError):
        while True:
            await trio.lowlevel.wait_readable(connected)
            try:
                if not connected.recv(1 << 16):
                    break
            except BlockingIOError:
                continue
    connected.close()


@pytest.mark.parametrize("said", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01", MAGIC[:3]])
def test_who_is_slow_in_the_handshake_is_closed_within_the_limit(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(here: Serving) -> None:
        bare = socket.create_connection(("127.0.0.1", here.port))
        bare.setblocking(False)
        if said:
            bare.send(said)
        await closed(bare)
        await still_serves(here)

    with_server(scene, limits=PeerLimits(0.5))
    assert "did not identify itself in time" in caplog.text or "does not encrypt" in caplog.text


def test_who_says_nothing_after_the_handshake_is_closed_within_the_limit() -> None:
    async def scene(here: Serving) -> None:
        await closed(await encrypted(here.port))

    with_server(scene, limits=PeerLimits(0.5))


def test_of_too_many_that_have_not_said_who_they_are_the_oldest_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "MOST_NEW", 3)

    async def scene(here: Serving) -> None:
        waiting = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
        await closed(waiting[0])
        await still_serves(here)  # which closes the next one
        await closed(waiting[1])
        for one in waiting[2:]:
            with pytest.raises(BlockingIOError):
                one.recv(1)
            one.close()

    with_server(scene)


def test_who_says_more_than_it_was_asked_before_it_was_let_in_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(here: Serving) -> None:
        connected = await encrypted(here.port)
        connected.send(MAGIC + Role.CLIENT.value + bytes(1 + 32) + b"and more")
        await closed(connected)

    with_server(scene)
    assert "it sends more than it may" in caplog.text


@settings(max_examples=30)
@given(st.binary(min_size=1, max_size=300), st.booleans())
def test_garbage_before_or_behind_the_handshake_ends_that_connection_only(
    garbage: bytes, behind: bool
) -> None:
    async def scene(here: Serving) -> None:
        if behind:
            connected = await encrypted(here.port)
            connected.socket.send(garbage)  # not as a record
            connected.socket.shutdown(socket.SHUT_WR)
            await closed(connected.socket)
        else:
            bare = socket.create_connection(("127.0.0.1", here.port))
            bare.setblocking(False)
            bare.send(garbage)
            bare.shutdown(socket.SHUT_WR)
            await closed(bare)
        await still_serves(here)

    with_server(scene)


def test_older_versions_of_tls_are_not_spoken() -> None:
    async def scene(here: Serving) -> None:
        def ask() -> None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            with (
                socket.create_connection(("127.0.0.1", here.port)) as bare,
                pytest.raises(ssl.SSLError, match=r"(?i)protocol.version"),
            ):
                context.wrap_socket(bare)

        await trio.to_thread.run_sync(ask)

    with_server(scene)


def test_what_travels_cannot_be_read(tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def scene(here: Serving) -> None:
        proxy = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = proxy[0].socket.getsockname()[1]

        async def pass_on(stream: trio.SocketStream) -> None:
            there = await trio.open_tcp_stream("127.0.0.1", here.port)

            async def pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    async for piece in source:
                        heard.append(bytes(piece))
                        await target.send_all(piece)
                    await target.send_eof()

            async with stream, there, trio.open_nursery() as nursery:
                nursery.start_soon(pump, stream, there)
                nursery.start_soon(pump, there, stream)

        def ask() -> None:
            client = ClientConnection("127.0.0.1", port, keys=Keys(identity=CLIENT))
            client.ask(OpenSession("a name that is private"))
            client.close()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, pass_on, proxy)
            await trio.to_thread.run_sync(ask)
            nursery.cancel_scope.cancel()

    with_server(scene)
    said = b"".join(heard)
    assert len(said) > 2000
    assert b"private" not in said
    assert b"rain" not in said  # not even the names in certificates


def test_the_file_is_named_that_a_member_cannot_read() -> None:
    with pytest.raises(StartError, match=r"nothing\.pem cannot be read"):
        Identity.read(keys_of() / "nothing.pem", MemberKind.CLIENT)
