"""A connection registers once and in one role; what it may call depends on nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import capnp
import pytest
import trio

from rain.base.admission import MAGIC, NONCE, Role
from rain.base.ids import SessionId
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.rpc import host, schema
from rain.rpc.codec.border import Capability
from rain.rpc.codec.columns import write_numbers
from rain.rpc.codec.requests import Wait, write_request
from rain.rpc.codec.words import write_words
from rain.rpc.connection import Connection, dial, reason_of
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer
from tests.support.waiting import turns_of_the_host

Scene = Callable[[Connection, Capability], Awaitable[None]]


def play(
    scene: Scene,
    role: Role = Role.CLIENT,
    rules: dict[str, Callable[[Any], object]] | None = None,
) -> FakeServer:
    """Runs a coroutine of the host with a raw connection to a server."""
    servers: list[FakeServer] = []

    async def main() -> int:
        server = FakeServer(rules=rules or {})
        servers.append(server)
        listener = listen("127.0.0.1", 0, server)

        async def raw() -> None:
            connection = await dial("127.0.0.1", listener.port, 5, role)
            await scene(connection, connection.call(schema.server.ServerBootstrap))
            connection.end("done")

        with trio.fail_after(30):
            await host.in_host(raw)
        listener.close()
        await turns_of_the_host()
        return 0

    host.run(main)
    return servers[0]


async def failure_of(call: Awaitable[object]) -> str:
    with pytest.raises(capnp.KjException) as caught:
        await call
    return reason_of(caught.value)


def test_a_second_registration_is_refused_and_ends_the_connection() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        assert await failure_of(bootstrap.registerClient(version=CLIENT_VERSION)) == (
            "this connection is registered as a client and cannot become a client"
        )

    server = play(scene)
    assert server.journal.named("client left") == [
        ("this connection is registered as a client and cannot become a client",)
    ]


def test_a_client_cannot_become_a_governor() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        request = bootstrap.registerGovernor_request()
        request.version, request.incarnation = GOVERNOR_VERSION, 77
        assert await failure_of(request.send()) == (
            "this connection is registered as a client and cannot become a governor"
        )

    assert play(scene).hellos == []


def test_a_role_is_the_one_that_was_asked_for_at_the_door() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        assert await failure_of(bootstrap.registerClient(version=CLIENT_VERSION)) == (
            "this connection was let in as a governor, not as a client"
        )

    assert play(scene, Role.GOVERNOR).journal.entries == []


def test_the_service_of_a_client_is_not_that_of_a_governor() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        service = (await bootstrap.registerClient(version=CLIENT_VERSION)).service
        wrong = service.as_reader() if hasattr(service, "as_reader") else service
        cast = wrong.cast_as(schema.governor.GovernorUpstream)
        assert "interface not implemented" in await failure_of(cast.drained())

    play(scene)


def test_a_governor_without_a_control_is_refused_when_it_is_needed() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = bootstrap.registerGovernor_request()
        request.version, request.incarnation = GOVERNOR_VERSION, 77
        request.dataAddress = "host:1"
        await request.send()

    server = play(scene, Role.GOVERNOR)
    assert [hello.data_address for hello in server.hellos] == ["host:1"]


def test_resources_that_are_negative_are_refused() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = bootstrap.registerGovernor_request()
        request.version, request.incarnation = GOVERNOR_VERSION, 77
        request.dataAddress = "host:1"
        row = request.init("resources", 1)[0]
        row.name, row.amount = "cpus", -1
        assert "must be a whole number, not -1" in await failure_of(request.send())

    assert play(scene, Role.GOVERNOR).hellos == []


async def farewell_to(
    connection: Connection, message: bytes, call: Awaitable[object] | None = None
) -> str:
    """Why the server closes the connection after a plain message, or a call."""
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    connection.hear(bytes, lambda message: None)
    connection.tell_end(ended.set_result)
    if call is None:
        connection.say(message)
        return await ended
    with pytest.raises(capnp.KjException):
        await call
    return await ended


def test_columns_that_do_not_fit_are_the_clients_fault() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        message = write_words(write_numbers([5, 1, 1, 0, 2, 0, 0, 0, 0, 0]), [])
        assert "other lengths than it says" in await farewell_to(connection, message)

    server = play(scene)
    assert server.journal.named("submit") == []


def test_a_request_of_an_unknown_kind_is_the_clients_fault() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        message = write_words(write_numbers([5, 99]), [])
        assert await farewell_to(connection, message) == "a request: nobody can ask for number 99"

    play(scene)


def test_a_number_that_is_still_waited_for_is_not_used_again() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        message = write_request(5, Wait(SessionId(1), (), (), "session"))
        connection.hear(bytes, lambda message: None)
        connection.say(message)
        assert "5 is not answered yet" in await farewell_to(connection, message)

    server = play(scene, rules={"wait": lambda reply: None})
    assert len(server.journal.named("wait")) == len(server.journal.named("abandoned")) == 1


def test_garbage_in_a_plain_message_is_the_clients_fault() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        assert (await farewell_to(connection, b"garbage")).startswith("a request: ")

    play(scene)


def test_whoever_is_not_registered_says_nothing_plain() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        message = write_request(5, Wait(SessionId(1), (), (), "session"))
        assert await farewell_to(connection, message)

    assert play(scene).journal.entries == []


def test_a_message_over_the_limit_is_refused_by_name() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        service = (await bootstrap.registerClient(version=CLIENT_VERSION)).service
        request = service.joinSession_request()
        request.name = "x" * 70_000_000
        said = await farewell_to(connection, b"", request.send())
        assert "bytes; the limit is 67108864" in said

    play(scene)


def test_a_plain_message_over_the_limit_is_refused_by_name() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        await bootstrap.registerClient(version=CLIENT_VERSION)
        said = await farewell_to(connection, bytes(70_000_000))
        assert said == "a message of 70000000 bytes; the limit is 67108864"

    play(scene)


def test_a_message_far_over_the_limit_does_not_even_leave() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        service = (await bootstrap.registerClient(version=CLIENT_VERSION)).service
        request = service.joinSession_request()
        request.name = "x" * 300_000_000
        call = request.send()
        assert "so I won't send it" in await failure_of(call)

    play(scene)


def test_a_message_that_is_too_long_to_be_received_ends_the_connection() -> None:
    # given: the header of a message with one segment of 4 GiB
    async def main() -> int:
        server = FakeServer()
        listener = listen("127.0.0.1", 0, server)
        async with await trio.open_tcp_stream("127.0.0.1", listener.port) as stream:
            await stream.send_all(MAGIC + Role.CLIENT.value + b"\0" + bytes(NONCE))
            assert await stream.receive_some(1) == b"o"
            await stream.send_all(b"\0\0\0\0\xff\xff\xff\x1f")
            # then: that is enough, though nothing of it has come
            assert await stream.receive_some() == b""
        listener.close()
        return 0

    host.run(main)
