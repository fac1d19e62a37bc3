"""Peers and a port at which a standby waits."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
import trio

from rain.base.admission import MemberKind, Secret
from rain.base.errors import StartError
from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.dialing import NotLeadingError
from rain.rpc.governor_endpoint import Upstream, connect_governor, connect_in_turn
from rain.rpc.handlers import GovernorHello
from rain.rpc.handshake import receive_some
from rain.rpc.port import Port
from rain.rpc.server_endpoint import listen
from rain.rpc.standing_by import stand_by
from rain.tls.keys import Keys
from tests.rpc.fakes import FakeControl, FakeServer, Serving, serving
from tests.support.tls import identity

SECRET = Secret.of("the-secret-of-this-cluster")
HOST = "127.0.0.1"


def play(scene: Callable[[Serving, Port, FakeServer], None], **options: Any) -> None:
    """In a thread, with a server that leads and a standby."""

    async def main() -> int:
        server = FakeServer(generation=2)
        async with serving(server, **options) as here:
            own = options["keys"].identity if "keys" in options else None
            port = stand_by(here.nursery, HOST, 0, own)
            await trio.to_thread.run_sync(scene, here, port, server)
            port.close()
        return 0

    program.run(main)


def test_a_client_is_told_at_once_that_a_standby_is_one() -> None:
    def scene(_: Serving, standby: Port, server: FakeServer) -> None:
        with pytest.raises(StartError, match="this is a standby, and another server leads"):
            ClientConnection(HOST, standby.port, keys=Keys(SECRET))
        assert server.journal.entries == []

    play(scene, keys=Keys(SECRET))


def test_a_client_goes_on_to_the_address_that_leads() -> None:
    def scene(here: Serving, standby: Port, _: FakeServer) -> None:
        others = [(HOST, here.port), (HOST, standby.port)]
        client = ClientConnection(HOST, standby.port, keys=Keys(SECRET), standbys=others)
        assert client.address == f"{HOST}:{here.port}"
        assert client.servers.generation == 2
        client.close()

    play(scene, keys=Keys(SECRET))


def test_an_encrypted_standby_says_so_over_tls() -> None:
    ours = identity(MemberKind.CLIENT)

    def scene(here: Serving, standby: Port, _: FakeServer) -> None:
        with pytest.raises(StartError, match="this is a standby"):
            ClientConnection(HOST, standby.port, keys=Keys(identity=ours))
        there = [(HOST, here.port)]
        client = ClientConnection(HOST, standby.port, keys=Keys(identity=ours), standbys=there)
        assert client.address == f"{HOST}:{here.port}"
        client.close()

    play(scene, keys=Keys(identity=identity(MemberKind.SERVER)))


async def join(nursery: trio.Nursery, servers: Servers) -> Upstream:
    async def connect() -> Upstream:
        return await connect_governor(
            nursery,
            servers,
            FakeControl(),
            GovernorHello(GovernorId(1), f"{HOST}:1", Resources()),
        )

    return await connect_in_turn(servers, connect)


def test_a_governor_goes_on_to_the_server_that_leads_and_not_to_one_that_was_replaced() -> None:
    async def main() -> int:
        server = FakeServer(generation=2)
        async with serving(server) as here:
            standby = stand_by(here.nursery, HOST, 0, None)
            servers = Servers([(HOST, standby.port), (HOST, here.port)])
            upstream = await join(here.nursery, servers)
            assert servers.where == f"{HOST}:{here.port}"
            upstream.close()
            # and when: it has seen a later one
            servers.generation = 3
            with pytest.raises(NotLeadingError, match=r"has been replaced.*this is a standby"):
                await join(here.nursery, servers)
            standby.close()
        return 0

    program.run(main)


def test_the_port_of_a_standby_becomes_that_of_the_server() -> None:
    async def main() -> int:
        server = FakeServer()
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                port = stand_by(nursery, HOST, 0, None)
                servers = Servers([(HOST, port.port)])
                with pytest.raises(StartError, match="this is a standby"):
                    await join(nursery, servers)
                # when
                listener = listen(nursery, port, server)
                # then
                assert listener.port == port.port
                upstream = await join(nursery, servers)
                upstream.close()
                await listener.drain("the test is over")
                nursery.cancel_scope.cancel()
        return 0

    program.run(main)


def test_a_connection_that_was_accepted_just_before_the_end_is_closed() -> None:
    async def main() -> int:
        with socket.create_server((HOST, 0)) as made:
            ours = socket.create_connection(made.getsockname(), 20)
            theirs, _ = made.accept()
        async with trio.open_nursery() as nursery:
            port = Port(HOST, 0, socket.socket.close)
            listener = listen(nursery, port, FakeServer())
            port.take(theirs)  # its task has not begun
            listener.close()
            with ours, trio.fail_after(5):  # it would have ten seconds to say who it is
                ours.setblocking(False)
                assert await receive_some(ours, 1) == b""
        return 0

    program.run(main)
