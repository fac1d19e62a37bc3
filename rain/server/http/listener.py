"""Listens for HTTP connections and limits their number."""

from __future__ import annotations

import errno
import ipaddress
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import trio
from attrs import Factory, define, evolve
from structlog.typing import FilteringBoundLogger

from rain.base.address import plain_host
from rain.base.errors import StartError
from rain.server.beside import beside
from rain.server.http.connection import Answer, serve_connection
from rain.server.settings import HttpSettings
from rain.stream.reserve import OUT_OF_DESCRIPTORS, Reserve, why_full
from rain.tls.identity import Identity

MOST_CONNECTIONS = 64
MOST_WAITING = 16
"""The most connections of one address without a complete request."""

TURN_AWAY_LIMIT = 1.0
"""Seconds for one answer of a server without free descriptors."""

_UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n"
    b"content-type: text/plain\r\ncontent-length: %d\r\n\r\n"
)
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def serve_http(
    settings: HttpSettings, answer: Answer, log: FilteringBoundLogger
) -> AsyncGenerator[str]:
    """Serves HTTP during the block; yields the address."""
    listeners = await _listen(settings)
    host, port = listeners[0].socket.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    log.info("http ready", address=address)
    doors = [_Door(listener, log) for listener in listeners]
    doorman = _Doorman(answer, doors, settings.identity)
    async with beside(doorman.run, doorman.scope.cancel):
        yield address


async def check_free(settings: HttpSettings) -> None:
    """`StartError` if HTTP could not be served now."""
    for listener in await _listen(settings):
        await listener.aclose()


async def _listen(settings: HttpSettings) -> list[trio.SocketListener]:
    try:
        return list(await trio.open_tcp_listeners(settings.port, host=settings.host))
    except OSError as error:
        if settings.preferred and error.errno == errno.EADDRINUSE:
            return await _listen(evolve(settings, port=0))
        where = f"{settings.host}:{settings.port}"
        raise StartError(
            f"cannot listen for HTTP on {where}: {error.strerror or error}; choose another address"
            " with --http-listen, or start with --no-http"
        ) from error


class _Door(trio.abc.Listener[trio.SocketStream]):
    """A listener that answers with an error if no descriptors are left."""

    def __init__(self, listener: trio.SocketListener, log: FilteringBoundLogger) -> None:
        self._listener = listener
        self._log = log
        self._reserve = Reserve()

    async def accept(self) -> trio.SocketStream:
        while True:
            # Without a free descriptor, accept fails even if there is no connection.
            await trio.lowlevel.wait_readable(self._listener.socket.fileno())
            try:
                return await self._listener.accept()
            except OSError as error:
                if error.errno not in OUT_OF_DESCRIPTORS:
                    raise
            await self._turn_away()

    async def _turn_away(self) -> None:
        reason = why_full()
        if self._reserve.is_news():
            self._log.error("HTTP connections are refused", reason=reason)
        body = f"The server cannot answer: {reason}.\n".encode()
        with self._reserve.lent(), suppress(OSError, trio.BrokenResourceError):
            with trio.move_on_after(TURN_AWAY_LIMIT):
                stream = await self._listener.accept()
                async with stream:
                    await stream.receive_some()  # unread data would reset the connection
                    await stream.send_all(_UNAVAILABLE % len(body) + body)

    async def aclose(self) -> None:
        self._reserve.close()
        await self._listener.aclose()


@define(eq=False)
class _Doorman:
    """Accepts connections up to a limit.

    Connections without a complete request are closed first: those of an address with too many, or
    else of the address with the most, so that a flood does not affect slow connections of others.
    """

    answer: Answer
    listeners: list[_Door]
    identity: Identity | None = None
    scope: trio.CancelScope = Factory(trio.CancelScope)
    inside: int = 0
    waiting: dict[trio.CancelScope, str] = Factory(dict)  # their addresses, oldest first

    async def run(self) -> None:
        """Serves until the scope is cancelled; then every connection is closed."""
        with self.scope:
            await trio.serve_listeners(self.welcome, self.listeners)

    async def welcome(self, stream: trio.SocketStream) -> None:
        peer = _peer(stream)
        oldest = self._who_gives_way(peer)
        if oldest is not None:
            del self.waiting[oldest]
            oldest.cancel()
        elif self.inside >= MOST_CONNECTIONS:
            with suppress(trio.BrokenResourceError):
                await stream.send_all(_FULL)
            await trio.aclose_forcefully(stream)
            return
        scope = trio.CancelScope()

        def note(waits: bool) -> None:
            if waits:
                self.waiting[scope] = peer
            else:
                self.waiting.pop(scope, None)

        self.inside += 1
        try:
            with scope:
                await serve_connection(stream, self.answer, note, self.identity)
        finally:
            self.waiting.pop(scope, None)
            self.inside -= 1

    def _who_gives_way(self, peer: str) -> trio.CancelScope | None:
        own = [scope for scope, whose in self.waiting.items() if whose == peer]
        if len(own) >= MOST_WAITING:
            return own[0]
        if self.inside < MOST_CONNECTIONS or not self.waiting:
            return None
        ((most, _),) = Counter(self.waiting.values()).most_common(1)
        return next(scope for scope, whose in self.waiting.items() if whose == most)


def _peer(stream: trio.SocketStream) -> str:
    """The address of the peer; for IPv6 the network, because one user has a whole network."""
    try:
        host = plain_host(stream.socket.getpeername()[0])
    except OSError:
        return ""  # it is closed already
    address = ipaddress.ip_address(host)
    if address.version == 6:
        return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return host
