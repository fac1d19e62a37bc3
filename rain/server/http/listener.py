"""Accepts HTTP connections, up to a limit.

They come to the server's port, like all other connections (`rain.rpc.listener`), or to a separate
port.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from http import HTTPStatus

import trio
from attrs import Factory, define
from structlog.typing import FilteringBoundLogger

from rain.base.address import plain_host
from rain.base.first_byte import http_refusal
from rain.rpc.handshake import send_all
from rain.rpc.listener import Listener
from rain.rpc.port import Port, bind
from rain.rpc.sockets import prepare
from rain.server.beside import beside
from rain.server.http.connection import Answer, Waits, greet, serve_connection
from rain.server.settings import Address, HttpSettings
from rain.stream.sockets import Connected
from rain.tls.encrypted import READ_SIZE
from rain.tls.identity import Identity

MOST_CONNECTIONS = 64
MOST_WAITING = 16
"""The most connections of one address without a complete request."""

_ADVICE = "choose another address for HTTP with --http-listen, or leave that out"

_FULL = http_refusal(
    HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_CONNECTIONS} connections are open; try again later"
)


@asynccontextmanager
async def serve_http(
    settings: HttpSettings, listener: Listener, answer: Answer, log: FilteringBoundLogger
) -> AsyncGenerator[str]:
    """Serves HTTP during the block; yields the address."""
    if settings.own_port is not None:
        async with serve_alone(settings.own_port, answer, log, settings.identity) as address:
            yield address
        return
    doorman = _Doorman(answer)
    listener.http = doorman.serve
    log.info("http ready", address=listener.address)
    try:
        yield listener.address
    finally:
        listener.http = None
        doorman.close()


@asynccontextmanager
async def serve_alone(
    where: Address, answer: Answer, log: FilteringBoundLogger, identity: Identity | None = None
) -> AsyncGenerator[str]:
    """Serves HTTP at a port for nothing else during the block; yields the address."""
    doorman = _Doorman(answer)
    scope = trio.CancelScope()
    nursery: trio.Nursery

    def take(accepted: socket.socket) -> None:
        nursery.start_soon(doorman.welcome, accepted, identity)

    async def run() -> None:
        nonlocal nursery
        with scope:
            async with trio.open_nursery() as nursery:
                await port.run()

    port = Port(*where, take, _ADVICE)
    log.info("http ready", address=port.address)
    async with beside(run, scope.cancel):
        yield port.address


def check_free(where: Address) -> None:
    """`StartError` if HTTP could not be served there now."""
    bind(*where, _ADVICE).close()


@define(eq=False)
class _Doorman:
    """Takes connections in up to a limit.

    Connections without a complete request are closed first: those of an address with too many, or
    else of the address with the most, so that a flood does not affect slow connections of others.
    """

    answer: Answer
    inside: dict[trio.CancelScope, None] = Factory(dict)
    waiting: dict[trio.CancelScope, str] = Factory(dict)  # their addresses, oldest first

    async def serve(self, connected: Connected, came: bytes) -> None:
        """Serves a connection to the server's port, of which these bytes have come."""
        await self._keep(connected, partial(serve_connection, connected, self.answer, came))

    async def welcome(self, accepted: socket.socket, identity: Identity | None) -> None:
        """Serves a connection to a port for HTTP alone."""

        async def serve(waits: Waits) -> None:
            greeted = await greet(accepted, identity)
            if greeted is not None:
                connected, first = greeted
                await serve_connection(connected, self.answer, first, waits)

        try:
            prepare(accepted)
        except OSError:
            accepted.close()  # it has gone already
        else:
            await self._keep(accepted, serve)

    def close(self) -> None:
        """Closes all connections."""
        for scope in self.inside:
            scope.cancel()

    async def _keep(self, connected: Connected, serve: Callable[[Waits], Awaitable[None]]) -> None:
        """Serves a connection if there is room, and closes it."""
        with closing(connected):
            peer = _peer(connected)
            if not self._has_room(peer):
                await _turn_away(connected)
                return
            scope = trio.CancelScope()

            def note(waits: bool) -> None:
                if waits:
                    self.waiting[scope] = peer
                else:
                    self.waiting.pop(scope, None)

            self.inside[scope] = None
            note(True)
            try:
                with scope:
                    await serve(note)
            finally:
                note(False)
                del self.inside[scope]

    def _has_room(self, peer: str) -> bool:
        """Whether there is room for one more connection; closes another one for it if that is
        fair.
        """
        oldest = self._who_gives_way(peer)
        if oldest is not None:
            del self.waiting[oldest]
            oldest.cancel()
        return oldest is not None or len(self.inside) < MOST_CONNECTIONS

    def _who_gives_way(self, peer: str) -> trio.CancelScope | None:
        own = [scope for scope, whose in self.waiting.items() if whose == peer]
        if len(own) >= MOST_WAITING:
            return own[0]
        if len(self.inside) < MOST_CONNECTIONS or not self.waiting:
            return None
        ((most, _),) = Counter(self.waiting.values()).most_common(1)
        return next(scope for scope, whose in self.waiting.items() if whose == most)


async def _turn_away(connected: Connected) -> None:
    with suppress(OSError):  # it may have gone
        with suppress(BlockingIOError):
            connected.recv(READ_SIZE)  # what is left unread would reset the connection
        await send_all(connected, _FULL)


def _peer(connected: Connected) -> str:
    """The address of the peer; for IPv6 the network, because one user has a whole network."""
    try:
        host = plain_host(connected.getpeername()[0])
    except OSError:
        return ""  # it is closed already
    address = ipaddress.ip_address(host)
    if address.version == 6:
        return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return host
