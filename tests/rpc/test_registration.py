"""A connection registers once and in one role; what it may call depends on nothing else."""

from __future__ import annotations

from math import inf, nan

import pytest
import trio

from rain.base.admission import MAGIC, NONCE, Role
from rain.base.wire import CLIENT_VERSION
from rain.daemon import program
from rain.rpc.interface import Fields
from tests.rpc.fakes import FakeServer, serving
from tests.rpc.raw import BOOTSTRAP, SERVICE, UPSTREAM, Raw, play


def test_a_second_registration_is_refused_and_ends_the_connection() -> None:
    async def scene(raw: Raw) -> None:
        await raw.register_client()
        assert await raw.failure_of(raw.register_client()) == (
            "this connection is registered as a client and cannot become a client"
        )

    server = play(scene)
    assert server.journal.named("client left") == [
        ("this connection is registered as a client and cannot become a client",)
    ]


def test_a_client_cannot_become_a_governor() -> None:
    async def scene(raw: Raw) -> None:
        await raw.register_client()
        assert await raw.failure_of(raw.register_governor()) == (
            "this connection is registered as a client and cannot become a governor"
        )

    assert play(scene).hellos == []


def test_a_role_is_the_one_that_was_asked_for_at_the_door() -> None:
    async def scene(raw: Raw) -> None:
        assert await raw.failure_of(raw.register_client()) == (
            "this connection was let in as a governor, not as a client"
        )

    assert play(scene, Role.GOVERNOR).journal.entries == []


def test_a_client_of_another_version_is_told_both_versions() -> None:
    async def scene(raw: Raw) -> None:
        call = raw.call(BOOTSTRAP, "registerClient", {"version": CLIENT_VERSION + 1})
        said = await raw.failure_of(call)
        assert f"version {CLIENT_VERSION + 1} " in said
        assert f"version {CLIENT_VERSION}:" in said

    assert play(scene).clients == []


def test_the_service_of_a_client_is_not_that_of_a_governor() -> None:
    async def scene(raw: Raw) -> None:
        service = await raw.register_client()
        said = await raw.failure_of(raw.call(UPSTREAM, "drained", {}, service))
        assert "has no such method" in said
        # and it goes on: only that call has failed
        await raw.call(SERVICE, "alive", {}, service)

    play(scene)


def test_a_governor_that_offers_nothing_is_refused() -> None:
    async def scene(raw: Raw) -> None:
        said = await raw.failure_of(raw.register_governor(control=None))
        assert "without anything that takes orders" in said

    assert play(scene, Role.GOVERNOR).hellos == []


IMPOSSIBLE: list[tuple[list[Fields], str]] = [
    ([{"name": "cpus", "amount": -1}], "must be a whole number, not -1"),
    ([{"name": "gpus", "amount": 1}] * 2, "a resource is named twice"),
    ([{}] * 2000, "2000 resources; there may be 1000"),
]


@pytest.mark.parametrize(("resources", "why"), IMPOSSIBLE)
def test_resources_that_cannot_be_are_refused(resources: list[Fields], why: str) -> None:
    async def scene(raw: Raw) -> None:
        assert why in await raw.failure_of(raw.register_governor(resources=resources))

    assert play(scene, Role.GOVERNOR).hellos == []


@pytest.mark.parametrize("seconds", [-1.0, inf, nan])
def test_a_time_that_no_governor_has_is_refused(seconds: float) -> None:
    async def scene(raw: Raw) -> None:
        said = await raw.failure_of(raw.register_governor(timeLeft=seconds))
        assert said == f"{seconds} is no time that a governor has left"

    assert play(scene, Role.GOVERNOR).hellos == []


@pytest.mark.parametrize("incarnation", [0, -1, -(2**63)])
def test_an_incarnation_that_no_address_can_name_is_refused(incarnation: int) -> None:
    async def scene(raw: Raw) -> None:
        said = await raw.failure_of(raw.register_governor(incarnation=incarnation))
        assert "must be above 0" in said

    assert play(scene, Role.GOVERNOR).hellos == []


def test_columns_that_do_not_fit_are_the_clients_fault() -> None:
    async def scene(raw: Raw) -> None:
        service = await raw.register_client()
        params = {"session": 1, "tasks": {"ids": [1, 2], "kinds": [3]}, "last": True}
        assert "columns" in await raw.failure_of(raw.call(SERVICE, "submit", params, service))

    server = play(scene)
    assert server.journal.named("submit") == []
    assert len(server.journal.named("client left")) == 1


def test_a_waits_past_that_is_below_zero_is_the_clients_fault() -> None:
    async def scene(raw: Raw) -> None:
        service = await raw.register_client()
        params = {"session": 1, "mode": "news", "since": -1}
        said = await raw.failure_of(raw.call(SERVICE, "wait", params, service))
        assert "-1 tasks cannot have been told before" in said

    assert len(play(scene).journal.named("client left")) == 1


def test_garbage_is_the_clients_fault() -> None:
    async def scene(raw: Raw) -> None:
        await raw.register_client()
        raw.link.say_bytes(b"\0\0\0\0\1\0\0\0garbage!")
        await raw.link.until_ended()

    assert len(play(scene).journal.named("client left")) == 1


def test_a_wait_is_given_up_with_its_connection() -> None:
    async def scene(raw: Raw) -> None:
        service = await raw.register_client()
        wait = SERVICE.methods["wait"]
        raw.link.peer.call(service, wait, {"session": 1, "mode": "session"}, lambda _: None)
        await raw.call(SERVICE, "alive", {}, service)

    server = play(scene, rules={"wait": lambda reply: None})
    assert len(server.journal.named("wait")) == len(server.journal.named("abandoned")) == 1


def test_a_caller_that_is_not_registered_has_no_service_to_call() -> None:
    async def scene(raw: Raw) -> None:
        said = await raw.failure_of(raw.call(SERVICE, "openSession", {"name": "x"}))
        assert said

    assert play(scene).journal.entries == []


def test_a_message_that_is_too_long_to_be_received_ends_the_connection() -> None:
    # given: the header of a message with one segment of 4 GiB
    async def main() -> int:
        async with serving(FakeServer(), 30) as here:
            stream = await trio.open_tcp_stream("127.0.0.1", here.port)
            async with stream:
                await stream.send_all(MAGIC + Role.CLIENT.value + b"\0" + bytes(NONCE))
                assert await stream.receive_some(1) == b"o"
                await stream.send_all(b"\0\0\0\0\xff\xff\xff\x1f")
                # then: that is enough, though nothing of it has come
                said = b""
                while piece := await stream.receive_some():
                    said += piece
                assert b"the limit is" in said
        return 0

    program.run(main)
