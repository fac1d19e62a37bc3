"""A client connects, or is told in one line why it cannot."""

import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
import trio

from rain.base.address import split_address
from rain.base.errors import (
    StartError,
)
from rain.base.leading import Servers
from rain.base.silence import ClientLimits
from rain.base.wire import CLIENT_VERSION
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.client_registration import Way, connect_client
from rain.tls.keys import NO_KEYS
from tests.rpc.fakes import FakeServer, FakeStore, serving
from tests.support.streams import listening_streams


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_named() -> None:
    port = closed_port()
    expected = (
        f"cannot reach the server at 127.0.0.1:{port}: Connection refused; is the server running?"
    )
    with pytest.raises(StartError, match=f"^{re.escape(expected)}$"):
        ClientConnection("127.0.0.1", port)


def test_a_host_that_nobody_knows_is_named() -> None:
    with pytest.raises(StartError, match=r"cannot reach the server at nowhere\.invalid:1: "):
        ClientConnection("nowhere.invalid", 1)


@contextmanager
def somebody_else(said: bytes) -> Generator[int, None, None]:
    """A port where something listens that is no Rain server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            stranger, _ = listening.accept()
            with stranger, suppress(ConnectionResetError):  # it is told no more than it need be
                stranger.sendall(said)
                while stranger.recv(1000):
                    pass

        thread = threading.Thread(target=greet)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_a_server_of_something_else_is_named() -> None:
    with (
        somebody_else(b"220 mail.example ESMTP\r\n" * 20) as port,
        pytest.raises(StartError, match="is not a Rain server"),
    ):
        ClientConnection("127.0.0.1", port)


def test_a_server_that_closes_the_connection_at_once_may_be_another_program() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            stranger, _ = listening.accept()
            stranger.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(StartError, match="; is that the port of a server of Rain"):
            ClientConnection("127.0.0.1", listening.getsockname()[1])
        thread.join()


def test_a_server_that_says_nothing_is_given_up() -> None:
    with (
        somebody_else(b"") as port,
        pytest.raises(
            StartError, match=r"no answer within 0\.05 seconds; is that the port of a server"
        ),
    ):
        ClientConnection("127.0.0.1", port, limits=ClientLimits(connect=0.05))


def test_the_data_port_of_a_governor_is_no_server() -> None:
    async def main() -> int:
        async with listening_streams(FakeStore({})) as streams:

            def script() -> None:
                with pytest.raises(StartError, match="is not a Rain server"):
                    ClientConnection(*split_address(streams.address))

            await trio.to_thread.run_sync(script)
        return 0

    program.run(main)


def test_a_client_of_another_version_is_told_both_versions() -> None:
    async def main() -> int:
        server = FakeServer()

        def script(port: int) -> None:
            way = Way(Servers([("127.0.0.1", port)]), NO_KEYS, ClientLimits(), version=99)
            with pytest.raises(
                StartError, match=rf"speaks version 99 .* this server version {CLIENT_VERSION}"
            ):
                connect_client(way, None)

        async with serving(server) as here:
            await trio.to_thread.run_sync(script, here.port)
        assert server.journal.entries == []
        return 0

    program.run(main)
