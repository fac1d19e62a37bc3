"""A connection of a daemon: what trio tasks do with a socket and a peer."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from attrs import define

from rain.base.errors import ProtocolError
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered, RemoteCapability
from rain.rpc.outgoing import Patience
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from rain.rpc.serving import TOGETHER
from rain.rpc.sockets import prepare
from rain.stream.sockets import Connected
from tests.rpc.peers import COUNTER, Counter
from tests.support.tls import encrypted_pair
from tests.support.waiting import until

LONGEST = 1 << 20


@define(eq=False)
class Ends:
    """Both ends of one connection, and why each of them ended."""

    counter: Counter
    caller: Link
    server: Link
    root: RemoteCapability
    causes: dict[str, str]

    async def call(self, method: str, **params: Any) -> Fields | CallError:
        done = trio.Event()
        outcomes: list[Fields | CallError] = []

        def came(outcome: Fields | CallError) -> None:
            outcomes.append(outcome)
            done.set()

        self.caller.peer.call(self.root, COUNTER.methods[method], params, came)
        await done.wait()
        return outcomes[0]


def sockets() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets over the network of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        other, _ = listening.accept()
    prepare(one)
    prepare(other)
    return one, other


def wired(*, encrypted: bool) -> tuple[Connected, Connected]:
    """A connection whose links may be encrypted."""
    one, other = sockets()
    if not encrypted:
        return one, other
    accepted, connected = encrypted_pair(other, one)
    return connected, accepted


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"], autouse=True)
def is_encrypted(request: pytest.FixtureRequest) -> Iterator[None]:
    """All that is tested here holds for both."""
    _way["encrypted"] = request.param
    yield
    _way["encrypted"] = False


_way = {"encrypted": False}

ONLY_PLAIN = pytest.mark.parametrize("is_encrypted", [False], ids=["plain"], indirect=True)
"""For what looks at sockets without a link."""


@asynccontextmanager
async def ends(counter: Counter | None = None) -> AsyncGenerator[Ends]:
    counter = counter or Counter()
    one, other = wired(encrypted=_way["encrypted"])
    caller, server = Link(one, None, LONGEST), Link(other, counter.offered, LONGEST)
    causes: dict[str, str] = {}
    caller.on_end = lambda cause: causes.__setitem__("caller", cause)
    server.on_end = lambda cause: causes.__setitem__("server", cause)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(caller.run)
        nursery.start_soon(server.run)
        yield Ends(counter, caller, server, caller.peer.bootstrap(), causes)
        caller.end("the test is over")
        server.end("the test is over")
    assert one.fileno() == other.fileno() == -1


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        with trio.fail_after(30):
            await main()

    trio.run(limited)


def test_a_call_goes_over_a_socket_and_comes_back() -> None:
    async def main() -> None:
        async with ends() as both:
            assert await both.call("add", number=4) == {"sum": 4}
            assert await both.call("fail", reason="x" * 5000) is not None

    run(main)


def test_what_the_socket_does_not_take_at_once_follows_in_order() -> None:
    async def main() -> None:
        async with ends() as both:
            fail, add = COUNTER.methods["fail"], COUNTER.methods["add"]
            for number in range(10):
                both.caller.peer.call(both.root, fail, {"reason": "z" * 500_000}, lambda _: None)
                both.caller.peer.call(both.root, add, {"number": number}, lambda _: None)
            assert both.caller.unsent > 0
            assert await both.call("add", number=0) == {"sum": 45}
            assert both.caller.unsent == 0

    run(main)


def test_what_may_leave_later_leaves_with_what_is_said_next() -> None:
    async def main() -> None:
        counter = Counter()

        def acknowledge(params: Fields, call: IncomingCall) -> None:
            call.acknowledge()

        handlers = dict.fromkeys(COUNTER.methods, acknowledge)
        counter.offered = Offered(COUNTER, {**handlers, "fail": lambda _, call: call.fail("no")})
        async with ends(counter) as both:
            returned: list[Fields | CallError] = []
            wait = COUNTER.methods["wait"]
            for _ in range(TOGETHER):
                both.caller.peer.call(both.root, wait, {}, returned.append)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not returned
            assert isinstance(await both.call("fail"), CallError)
            assert returned == [{"answer": ""}] * TOGETHER

    run(main)


def test_an_end_with_a_reason_tells_the_other_side_behind_all_that_was_said() -> None:
    async def main() -> None:
        async with ends() as both:
            await both.call("add", number=1)
            both.server.end_with_reason("the server stops")
            await both.caller.until_ended()
            await trio.testing.wait_all_tasks_blocked()
            assert both.causes == {"server": "the server stops", "caller": "the server stops"}
            assert isinstance(await both.call("add", number=1), CallError)

    run(main)


def test_a_peer_that_breaks_the_rules_is_told_why_and_closed() -> None:
    def blame(params: Fields, call: IncomingCall) -> None:
        raise ProtocolError("not like this")

    async def main() -> None:
        counter = Counter()
        counter.offered = Offered(COUNTER, dict.fromkeys(COUNTER.methods, blame))
        async with ends(counter) as both:
            error = await both.call("add", number=1)
            assert isinstance(error, CallError)
            assert error.reason == "not like this"
            await both.caller.until_ended()
            assert both.caller.cause == "not like this"

    run(main)


def test_the_end_of_the_other_side_is_the_end_of_this_one() -> None:
    async def main() -> None:
        async with ends() as both:
            await both.call("add", number=1)
            both.server.end("it has gone")
            await both.caller.until_ended()
            assert both.caller.cause == "the other side closed the connection"

    run(main)


def test_a_peer_that_says_too_much_before_its_admission_is_closed() -> None:
    async def main() -> None:
        async with ends() as both:
            both.server.allow(1000, 1000)
            await both.call("fail", reason="y" * 2000)
            assert "limit" in both.server.cause or "too much" in both.server.cause

    run(main)


@ONLY_PLAIN
def test_a_peer_that_does_not_read_has_to_wait_and_is_heard_again_when_it_reads() -> None:
    async def main() -> None:
        one, other = sockets()
        counter = Counter()
        server = Link(other, counter.offered, LONGEST)
        server.bear(Patience(makes_wait=True, unread=1000, most=1 << 30))
        said: list[bytes] = []
        peer = Peer(said.append)  # a side that is driven by hand
        root = peer.bootstrap()
        returned: list[Fields | CallError] = []
        for _ in range(30_000):
            peer.call(root, COUNTER.methods["fail"], {"reason": "z" * 1000}, returned.append)
        content = b"".join(said)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run)

            async def say() -> None:
                rest = memoryview(content)
                while rest:
                    await trio.lowlevel.wait_writable(one)
                    rest = rest[one.send(rest) :]

            nursery.start_soon(say)
            # All may be blocked for a while before that, where the system is slow with its bytes.
            await until(lambda: server.unsent > 1000)
            await trio.testing.wait_all_tasks_blocked(0.2)
            assert server.unsent < 4 * 1024 * 1024
            while len(returned) < 30_000:
                await trio.lowlevel.wait_readable(one)
                peer.receive(one.recv(1 << 20))
            server.end("the test is over")
        one.close()

    run(main)


def test_a_peer_that_leaves_more_unread_than_is_kept_is_closed() -> None:
    async def main() -> None:
        async with ends() as both:
            both.caller.bear(Patience(most=100_000))
            for _ in range(100):
                both.caller.peer.call(
                    both.root, COUNTER.methods["fail"], {"reason": "z" * 500_000}, lambda _: None
                )
            assert "does not read" in both.caller.cause

    run(main)


def test_a_side_that_is_silent_for_too_long_is_given_up() -> None:
    async def main() -> None:
        async with ends() as both:
            await both.call("add", number=1)
            await both.caller.expect(0.2, beat=0.05)
            assert both.caller.ended is not None
            assert both.caller.ended.silence >= 0.2
            assert "nothing was received" in both.caller.cause

    run(main)


def test_signs_of_life_and_their_answers_keep_both_sides() -> None:
    async def main() -> None:
        async with ends() as both, trio.open_nursery() as nursery:
            nursery.start_soon(both.caller.expect, 0.5, 0.05)
            nursery.start_soon(both.server.expect, 0.5, 0.05)
            for _ in range(20):
                await both.call("add", number=0)
                await trio.sleep(0.05)
            assert both.caller.is_open
            assert both.server.is_open
            both.caller.end("enough")
            both.server.end("enough")

    run(main)


class Sipping(socket.socket):
    """A socket that takes little at a time, and notes of how many pieces that is."""

    pieces: set[int]

    def send(self, data: Any, flags: int = 0, /) -> int:
        self.pieces.add(id(data.obj))
        return super().send(data[:50_000], flags)


@ONLY_PLAIN
def test_what_waits_is_put_together_once_and_not_for_each_part_that_the_socket_takes() -> None:
    async def main() -> None:
        one, other = sockets()
        sipping = Sipping(fileno=one.detach())
        sipping.setblocking(False)
        sipping.pieces = set()
        caller, server = Link(sipping, None, LONGEST), Link(other, Counter().offered, LONGEST)
        root = caller.peer.bootstrap()
        returned: list[Fields | CallError] = []
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                caller.peer.call(
                    root, COUNTER.methods["fail"], {"reason": "z" * 50_000}, returned.append
                )
            nursery.start_soon(caller.run)
            nursery.start_soon(server.run)
            while len(returned) < 100:
                await trio.testing.wait_all_tasks_blocked()
            caller.end("enough")
            server.end("enough")
        assert len(sipping.pieces) < 10

    run(main)
