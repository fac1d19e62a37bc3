"""Peers that do not read what they are told: they wait, and in the end they are dismissed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio
from attrs import evolve

from rain.base.admission import Role
from rain.base.ids import ObjectId, SessionId, pack
from rain.base.wire import CLIENT_VERSION
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.orders import Orders
from rain.base.wire.requests import WaitFor
from rain.daemon import program
from rain.rpc.codec.requests import write_wait
from rain.rpc.handlers import Reply
from rain.rpc.offered import RemoteCapability
from rain.rpc.outgoing import Patience
from rain.rpc.server_endpoint import PeerLimits
from tests.rpc.fakes import FakeServer, Serving, serving
from tests.rpc.raw import BOOTSTRAP, SERVICE, ByHand, connect_by_hand, governor_hello

MIB = 1024 * 1024
NAMED = [ObjectId(pack(1, number)) for number in range(8000)]
HEAVY = WaitAnswer(delivery=Delivery([NAMED[0]], [MIB], [""], [bytes(MIB)]))
SHORT = Patience(unread=4 * MIB, seconds=0.1)
LONG = Patience(unread=4 * MIB)

Scene = Callable[[FakeServer, Serving], Awaitable[None]]


def play(scene: Scene, patience: Patience) -> FakeServer:
    """Runs a scene beside a server that answers each wait with a lot."""
    servers: list[FakeServer] = []

    def answer(reply: Reply[WaitAnswer]) -> None:
        reply.answer(HEAVY)

    async def main() -> int:
        server = FakeServer(rules={"wait": answer})
        servers.append(server)
        async with serving(server, 40, limits=PeerLimits(patience=patience)) as here:
            await scene(server, here)
        return 0

    program.run(main)
    return servers[0]


async def enter_as_client(here: Serving) -> tuple[ByHand, RemoteCapability]:
    """A client that has registered."""
    client = await connect_by_hand(here.port)
    method = BOOTSTRAP.methods["registerClient"]
    results = await client.call(method, {"version": CLIENT_VERSION})
    return client, results["service"]


def waits(client: ByHand, service: RemoteCapability, count: int, objects: int) -> bytes:
    """The bytes of a client that makes these calls."""
    asked = write_wait(WaitFor(SessionId(1), (), tuple(NAMED[:objects]), "all"))
    for _ in range(count):
        client.peer.call(service, SERVICE.methods["wait"], asked, lambda _: None)
    return client.take_said()


def say_all(connected: socket.socket, said: bytes) -> None:
    connected.setblocking(True)
    with suppress(OSError):  # it was dismissed
        connected.sendall(said)


def test_a_client_that_reads_nothing_is_not_heard_and_then_dismissed_with_the_reason() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        client, service = await enter_as_client(here)
        with client.socket as connected:
            await trio.to_thread.run_sync(say_all, connected, waits(client, service, 200, 8000))
            await server.journal.until("client left")

    server = play(scene, SHORT)
    ((cause,),) = server.journal.named("client left")
    assert cause.startswith("it has read nothing for 0.1 seconds, and ")
    assert len(server.journal.named("wait")) < 100


def test_a_client_that_reads_late_gets_everything() -> None:
    count = 60
    got = 0

    def read(connected: socket.socket) -> None:
        nonlocal got
        while got < count * MIB:
            got += len(connected.recv(MIB))

    async def scene(server: FakeServer, here: Serving) -> None:
        client, service = await enter_as_client(here)
        said = waits(client, service, count, 8000)
        with client.socket as connected:
            saying = threading.Thread(target=say_all, args=(connected, said))
            saying.start()
            await server.journal.until("wait", 4)  # as many as it bears
            await trio.to_thread.run_sync(read, connected)
            saying.join()

    server = play(scene, LONG)
    assert len(server.journal.named("wait")) == count
    assert got >= count * MIB


def test_no_more_is_kept_for_a_client_than_is_borne_at_most() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        client, service = await enter_as_client(here)
        said = waits(client, service, 100, 1)  # heard all at once
        with client.socket as connected:
            await trio.to_thread.run_sync(say_all, connected, said)
            await server.journal.until("client left")

    server = play(scene, evolve(LONG, most=32 * MIB))
    ((cause,),) = server.journal.named("client left")
    assert cause.endswith("no more than 32MiB are kept for one that does not read")


def test_a_governor_that_reads_nothing_is_dismissed_with_the_reason() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        governor = await connect_by_hand(here.port, Role.GOVERNOR)
        await governor.call(BOOTSTRAP.methods["registerGovernor"], governor_hello())
        with governor.socket:
            for _ in range(16):
                server.governors[0].order(Orders(drops=NAMED * 20))
            await server.journal.until("governor left")

    server = play(scene, SHORT)
    ((cause,),) = server.journal.named("governor left")
    assert cause.startswith("it has read nothing for 0.1")
