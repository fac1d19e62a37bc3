"""Peers that do not read what they are told: they wait, and in the end they are dismissed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import trio

from rain.base.admission import Role
from rain.base.ids import ObjectId, SessionId, pack
from rain.base.wire import Delivery, Orders, WaitAnswer
from rain.rpc import host
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.codec.requests import Wait, write_request
from rain.rpc.handlers import Reply
from rain.rpc.interleaved import Kind, marked
from rain.rpc.listener import Listener
from rain.rpc.patience import Patience
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeControl, FakeServer, join
from tests.support.malformed import KeepingTap, enter, register, tapped

MIB = 1024 * 1024
NAMED = [ObjectId(pack(1, number)) for number in range(8000)]
HEAVY = WaitAnswer(delivery=Delivery([NAMED[0]], [MIB], [""], [bytes(MIB)]))
SHORT = partial(Patience, unread=4 * MIB, seconds=0.1)
LONG = partial(Patience, unread=4 * MIB)

Scene = Callable[[FakeServer, Listener], Awaitable[None]]


def play(scene: Scene, patience: Callable[..., Patience]) -> FakeServer:
    """Runs a scene beside a server that answers each wait with a lot."""
    servers: list[FakeServer] = []

    def answer(reply: Reply[WaitAnswer]) -> None:
        reply.answer(HEAVY)

    async def main() -> int:
        server = FakeServer(rules={"wait": answer})
        servers.append(server)
        listener = listen("127.0.0.1", 0, server, patience=patience)
        with trio.fail_after(40):
            await scene(server, listener)
        listener.close()
        return 0

    host.run(main)
    return servers[0]


def a_wait(number: int, objects: int) -> bytes:
    request = Wait(SessionId(1), (), NAMED[:objects], "all")
    return marked(Kind.MESSAGE, write_request(number, request))


def enter_as_client(port: int) -> socket.socket:
    """A socket that has registered as a client."""
    with tapped(KeepingTap(port)) as tap:
        client = ClientConnection("127.0.0.1", tap.port)
        tap.registered()
        client.close()
    connected = enter(port, Role.CLIENT)
    register(connected, tap.said)
    return connected


def say_all(connected: socket.socket, said: bytes) -> None:
    with suppress(OSError):  # it was dismissed
        connected.sendall(said)


def test_a_client_that_reads_nothing_is_not_heard_and_then_dismissed_with_the_reason() -> None:
    said = b"".join(a_wait(number, 8000) for number in range(200))

    async def scene(server: FakeServer, listener: Listener) -> None:
        connected = await trio.to_thread.run_sync(enter_as_client, listener.port)
        with connected:
            await trio.to_thread.run_sync(say_all, connected, said)
            await server.journal.until("client left", 2)

    server = play(scene, SHORT)
    ((_,), (cause,)) = server.journal.named("client left")
    assert cause.startswith("it has read nothing for 0.1 seconds, and ")
    assert len(server.journal.named("wait")) < 100


def test_a_client_that_reads_late_gets_everything() -> None:
    count = 60
    said = b"".join(a_wait(number, 8000) for number in range(count))
    got = 0

    def read(connected: socket.socket) -> None:
        nonlocal got
        while got < count * MIB:
            got += len(connected.recv(MIB))

    async def scene(server: FakeServer, listener: Listener) -> None:
        connected = await trio.to_thread.run_sync(enter_as_client, listener.port)
        with connected:
            saying = threading.Thread(target=say_all, args=(connected, said))
            saying.start()
            await server.journal.until("wait", 4)  # as many as it bears
            await trio.to_thread.run_sync(read, connected)
            saying.join()

    server = play(scene, LONG)
    assert len(server.journal.named("wait")) == count
    assert got >= count * MIB


def test_no_more_is_kept_for_a_client_than_is_borne_at_most() -> None:
    said = b"".join(a_wait(number, 1) for number in range(100))  # heard all at once

    async def scene(server: FakeServer, listener: Listener) -> None:
        connected = await trio.to_thread.run_sync(enter_as_client, listener.port)
        with connected:
            await trio.to_thread.run_sync(say_all, connected, said)
            await server.journal.until("client left", 2)

    server = play(scene, partial(LONG, most=32 * MIB))
    ((_,), (cause,)) = server.journal.named("client left")
    assert cause.endswith("no more than 32MiB are kept for one that does not read")


def test_a_governor_that_reads_nothing_is_dismissed_with_the_reason() -> None:
    async def scene(server: FakeServer, listener: Listener) -> None:
        tap = KeepingTap(listener.port)
        passing_on = threading.Thread(target=tap.run)
        passing_on.start()
        upstream = await join(listener, FakeControl(), port=tap.port)
        tap.registered()
        upstream.close()
        await server.journal.until("governor left")
        connected = await trio.to_thread.run_sync(enter, listener.port, Role.GOVERNOR)
        with connected:
            await trio.to_thread.run_sync(register, connected, tap.said)
            await server.journal.until("governor joined", 2)
            for _ in range(16):
                server.governors[1].order(Orders(drops=NAMED * 20))
            await server.journal.until("governor left", 2)

    server = play(scene, SHORT)
    assert server.journal.named("governor left")[1][0].startswith("it has read nothing for 0.1")
