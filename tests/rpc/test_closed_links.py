"""A connection that has ended leaves nothing for the garbage collector, which a daemon lets run
seldom: each client that comes and goes would leave what it had."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Generator

import pytest

from rain.base.admission import Role
from rain.rpc.link import Link
from rain.rpc.offered import Offered, Served
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError, Questions
from rain.rpc.server_client import ServedClient
from rain.rpc.server_endpoint import Guest
from rain.rpc.server_governor import ServedGovernor
from rain.rpc.serving import Serving
from tests.rpc.peers import COUNTER
from tests.rpc.raw import SERVICE, Raw, play
from tests.rpc.test_link import ends, run
from tests.support.no_collector import no_collector

OF_A_CONNECTION = (
    *(Link, Peer, Questions, Serving, Offered, Served),
    *(Guest, ServedClient, ServedGovernor),
)


@pytest.fixture(autouse=True)
def without_collector() -> Generator[None]:
    with no_collector():
        yield


def left() -> list[str]:
    found = [type(one) for one in gc.get_objects()]
    return [kind.__name__ for kind in found if kind in OF_A_CONNECTION]


def test_a_link_and_its_peer_are_gone_when_the_connection_has_ended() -> None:
    async def main() -> None:
        async with ends() as both:
            both.caller.peer.call(both.root, COUNTER.methods["wait"], {}, lambda _: None)
            await both.call("add", number=1)
            assert left().count("Link") == 2

    run(main)
    assert set(left()) <= {"Offered"}  # the counter's, whose methods lead back to it


def test_a_call_after_the_end_is_told_of_it_as_before() -> None:
    async def main() -> None:
        async with ends() as both:
            await both.call("add", number=1)
        outcome = await both.call("add", number=1)
        assert isinstance(outcome, CallError)
        assert outcome.kind == "disconnected"

    run(main)


async def _client(raw: Raw) -> None:
    service = await raw.register_client()
    await raw.call(SERVICE, "alive", {}, service)


async def _client_again(raw: Raw) -> None:
    await raw.register_client(token=b"it was here before")


async def _governor(raw: Raw) -> None:
    await raw.register_governor()


async def _nobody(raw: Raw) -> None:
    """It leaves before it has said who it is."""


@pytest.mark.parametrize(
    ("scene", "role"),
    [
        (_client, Role.CLIENT),
        (_client_again, Role.CLIENT),
        (_governor, Role.GOVERNOR),
        (_nobody, Role.CLIENT),
    ],
    ids=["client", "client that was here before", "governor", "not registered"],
)
def test_a_peer_that_leaves_the_server_leaves_nothing(
    scene: Callable[[Raw], Awaitable[None]], role: Role
) -> None:
    server = play(scene, role)
    server.clients.clear()  # the links to all that were there, which only this server notes
    server.governors.clear()
    assert left() == []
