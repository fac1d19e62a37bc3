"""A connection to a server under test that says whatever the test wants."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from rain.base.admission import Role
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.daemon import program
from rain.rpc import schema
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.interface import Fields, Interface, Method
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered, RemoteCapability
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from rain.rpc.trio_dialing import dial
from tests.rpc.fakes import FakeServer, serving

BOOTSTRAP = Interface.of(schema.server.ServerBootstrap)
SERVICE = Interface.of(schema.client.ClientService)
UPSTREAM = Interface.of(schema.governor.GovernorUpstream)
CONTROL = Interface.of(schema.governor.GovernorControl)


class SpoilingLink(Link):
    """Puts other bytes in the place of some that it says."""

    instead: tuple[bytes, bytes] = (b"", b"")

    def say_bytes(self, content: bytes) -> None:
        """Says what may be no message."""
        self._say(content)
        self._flush()

    def _say(self, message: bytes) -> None:
        these, others = self.instead
        super()._say(message.replace(these, others) if these else message)


class Raw:
    """One connection, and the first object of the server."""

    def __init__(self, link: SpoilingLink) -> None:
        self.link = link
        self.bootstrap = link.peer.bootstrap()

    async def call(
        self,
        interface: Interface,
        name: str,
        params: Fields,
        target: RemoteCapability | None = None,
    ) -> Fields:
        """The results of a call; raises `CallError`."""
        outcomes: list[Fields | CallError] = []
        returned = trio.Event()

        def take(outcome: Fields | CallError) -> None:
            outcomes.append(outcome)
            returned.set()

        self.link.peer.call(target or self.bootstrap, interface.methods[name], params, take)
        await returned.wait()
        (outcome,) = outcomes
        if isinstance(outcome, CallError):
            raise outcome
        return outcome

    async def register_client(self, token: bytes = b"") -> RemoteCapability:
        """The service of a client that registers."""
        hello = {"version": CLIENT_VERSION, "token": token}
        results = await self.call(BOOTSTRAP, "registerClient", hello)
        service: RemoteCapability = results["service"]
        return service

    async def register_governor(self, **params: Any) -> Fields:
        """The results of a governor that registers."""
        return await self.call(BOOTSTRAP, "registerGovernor", governor_hello() | params)

    async def failure_of(self, call: Awaitable[object]) -> str:
        """Why a call has no results, and the connection ends if it does."""
        try:
            await call
        except CallError as error:
            return error.reason
        raise AssertionError("the call has succeeded")


class ByHand:
    """A connection whose bytes the test moves itself: it reads only when it is told to."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._said: list[bytes] = []
        self.peer = Peer(self._said.append)
        self.bootstrap = self.peer.bootstrap()

    async def call(self, method: Method, params: Fields) -> Fields:
        """Calls the first object, and reads until the results are there."""
        outcomes: list[Fields | CallError] = []
        self.peer.call(self.bootstrap, method, params, outcomes.append)
        self.socket.sendall(self.take_said())
        while not outcomes:
            await trio.lowlevel.wait_readable(self.socket)
            self.peer.receive(self.socket.recv(1 << 16))
        (outcome,) = outcomes
        assert not isinstance(outcome, CallError), outcome
        return outcome

    def take_said(self) -> bytes:
        said = b"".join(self._said)
        self._said.clear()
        return said


def governor_hello() -> Fields:
    """What a governor says of itself."""
    return {
        "version": GOVERNOR_VERSION,
        "incarnation": 77,
        "dataAddress": "host:1",
        "control": control(),
    }


def control(report: Fields | Exception | None = None) -> Offered:
    """What a governor offers. Its report may be wrong."""

    def answer(params: Fields, call: IncomingCall) -> None:
        call.answer()

    def tell(params: Fields, call: IncomingCall) -> None:
        if isinstance(report, Exception):
            call.fail(str(report))
        else:
            call.answer({"report": report or {}})

    others = dict.fromkeys(("order", "stop", "running", "watch", "callBack"), answer)
    return Offered(CONTROL, {"report": tell, **others})


async def connect(
    nursery: trio.Nursery,
    port: int,
    role: Role = Role.CLIENT,
    instead: tuple[bytes, bytes] = (b"", b""),
) -> Raw:
    """A connection that was let in."""
    link = SpoilingLink(await dial("127.0.0.1", port, 5, role), None, MESSAGE_LIMIT)
    link.instead = instead
    nursery.start_soon(link.run)
    return Raw(link)


async def connect_by_hand(port: int, role: Role = Role.CLIENT) -> ByHand:
    """The same for one that reads only when it is told to."""
    dialled = await dial("127.0.0.1", port, 5, role)
    assert isinstance(dialled, socket.socket)
    return ByHand(dialled)


def play(
    scene: Callable[[Raw], Awaitable[None]],
    role: Role = Role.CLIENT,
    rules: dict[str, Callable[[Any], object]] | None = None,
    instead: tuple[bytes, bytes] = (b"", b""),
) -> FakeServer:
    """Runs a scene with a raw connection to a server."""
    servers: list[FakeServer] = []

    async def main() -> int:
        server = FakeServer(rules=rules or {})
        servers.append(server)
        async with serving(server, 30) as here:
            raw = await connect(here.nursery, here.port, role, instead)
            await scene(raw)
            raw.link.end("done")
        return 0

    program.run(main)
    return servers[0]
