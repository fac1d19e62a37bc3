"""Peers that say what they should, but for some bytes, to a server that runs in earnest.

What a client and a governor say is recorded once, as it leaves, and said again with faults in it,
behind the door where peers are let in. It knows nothing of how the bytes are made.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import structlog
import trio
from attrs import define

from rain.base.admission import HELLO, MAGIC, NONCE, Role
from rain.base.wire.requests import OpenSession, ServerInfo, WaitFor
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.server_endpoint import listen
from rain.scheduler.rain import RainScheduler
from rain.server.clock import Clock
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.service import Service
from rain.server.spool import Spool

MARK = 0x5A5A5A
"""The session of what is recorded, which is found in the bytes, and then is another one."""

_MARKED = MARK.to_bytes(4, "little")

PATIENCE = 10.0


@define(eq=False)
class Serving:
    """A server under test, seen from a thread beside it."""

    service: Service
    port: int
    trio: Callable[..., Any]  # calls a coroutine function of trio from the thread

    @property
    def last_session(self) -> int:
        return self.service.reactor.state.graph.last_session

    def still_serves(self) -> None:
        """Somebody who does no harm is served."""
        client = ClientConnection("127.0.0.1", self.port)
        try:
            session = client.ask(OpenSession("good"))
            client.ask(WaitFor(session, (), (), "session"))
            assert client.ask(ServerInfo()) is not None
        finally:
            client.close()


def beside_a_server(folder: Path, script: Callable[[Serving], None], last_session: int = 0) -> None:
    """Runs a script in a thread beside a server; whatever ends the server is raised here."""

    folder.mkdir(exist_ok=True)

    async def main() -> int:
        state = State(ReactorSettings(debug=True))
        state.graph.last_session = last_session
        log = structlog.get_logger()
        spool = Spool(folder)
        service = Service(RainScheduler, state, Clock(), log, spool)
        async with trio.open_nursery() as nursery:
            listener = listen(nursery, ("127.0.0.1", 0), service.registration)
            nursery.start_soon(service.turns.run)
            serving = Serving(service, listener.port, trio.from_thread.run)
            with trio.fail_after(300):
                await trio.to_thread.run_sync(script, serving, abandon_on_cancel=True)
            service.stop("the test is over")
            await listener.drain()
            nursery.cancel_scope.cancel()
        spool.close()
        return 0

    program.run(main)


def enter(port: int, role: Role) -> socket.socket:
    """A socket that was let in."""
    connected = socket.create_connection(("127.0.0.1", port))
    connected.settimeout(PATIENCE)
    connected.sendall(MAGIC + role.value + b"\0" + bytes(NONCE))
    assert connected.recv(1) == b"o"
    return connected


@define
class Said:
    """What a peer has said behind the door."""

    opening: bytes  # by which it registers
    answered: int  # how many bytes it has heard then
    rest: bytes

    def in_session(self, session: int) -> Said:
        """The same in another session than the one that was recorded."""
        here = session.to_bytes(4, "little")
        return Said(self.opening, self.answered, self.rest.replace(_MARKED, here))


def register(connected: socket.socket, said: Said) -> None:
    """Says what a peer registers with, and hears the answer."""
    connected.sendall(said.opening)
    left = said.answered
    while left > 0 and (piece := connected.recv(left)):
        left -= len(piece)


def say(port: int, role: Role, said: Said) -> None:
    """Says all of it, and waits until the server has heard it and has closed."""
    with enter(port, role) as connected, suppress(ConnectionError):
        if said.rest:
            register(connected, said)
            connected.sendall(said.rest)
        else:
            connected.sendall(said.opening)
        connected.shutdown(socket.SHUT_WR)
        while connected.recv(1 << 16):
            pass


def spoiled(random: Random, said: bytes) -> bytes:
    """With a fault or some."""
    broken = bytearray(said)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        place = random.randrange(len(broken))
        match random.randrange(8):
            case 0:
                del broken[place:]
                broken += random.randbytes(random.randrange(64))
            case 1:
                del broken[place : place + random.choice((1, 4, 8))]
            case 2:
                broken[place:place] = random.randbytes(random.choice((1, 4, 8, 16)))
            case 3:
                broken[place : place + 6] = b"\xff" * len(broken[place : place + 6])
            case 4:
                word = place // 8 * 8
                broken[word : word + 8] = random.choice(_WORDS)
            case _:
                broken[place] ^= 1 << random.randrange(8)
        if not broken:
            return b"\0"
    return bytes(broken)


_WORDS = tuple(
    number.to_bytes(8, "little", signed=True)
    for number in (-(2**63), 2**63 - 1, -1, 2**32, 2**31 - 1, 2**40, 0, 1)
)


class KeepingTap:
    """Passes on what one pair of peers says, and keeps it."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._opening = self._answered = 0
        self.there = bytearray()
        self.back = bytearray()

    def registered(self) -> None:
        """The caller has done so by now, and nothing else."""
        self._opening, self._answered = len(self.there), len(self.back)

    @property
    def said(self) -> Said:
        """What the caller has said behind the door."""
        start = len(MAGIC) + HELLO
        opening, rest = self.there[start : self._opening], self.there[self._opening :]
        return Said(bytes(opening), self._answered - 1, bytes(rest))

    def run(self) -> None:
        caller, _ = self._listener.accept()
        called = socket.create_connection(("127.0.0.1", self._behind))
        ways = [
            threading.Thread(target=self._pass_on, args=(caller, called, self.there)),
            threading.Thread(target=self._pass_on, args=(called, caller, self.back)),
        ]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        caller.close()
        called.close()
        self._listener.close()

    def piece(self, said: bytes) -> bytes:
        """What is passed on in its place."""
        return said

    def _pass_on(self, one: socket.socket, other: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while piece := one.recv(1 << 16):
                kept += piece
                other.sendall(self.piece(piece))
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def tapped(tap: KeepingTap) -> Generator[KeepingTap, None, None]:
    thread = threading.Thread(target=tap.run)
    thread.start()
    try:
        yield tap
    finally:
        thread.join()
