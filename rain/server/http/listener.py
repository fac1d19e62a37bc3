"""Listening for HTTP: who is let in, and how many at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import trio
from attrs import Factory, define
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.server.beside import beside
from rain.server.http.connection import Answer, serve_connection
from rain.server.settings import HttpSettings

MOST_CONNECTIONS = 64


_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def serve_http(
    settings: HttpSettings, answer: Answer, log: FilteringBoundLogger
) -> AsyncGenerator[str]:
    """Serves while the block runs, and gives the address."""
    listeners = await _listen(settings)
    host, port = listeners[0].socket.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    log.info("http ready", address=address)
    doorman = _Doorman(answer, listeners)
    async with beside(doorman.run, doorman.scope.cancel):
        yield address


async def _listen(settings: HttpSettings) -> list[trio.SocketListener]:
    where = f"{settings.host}:{settings.port}"
    try:
        return list(await trio.open_tcp_listeners(settings.port, host=settings.host))
    except OSError as error:
        raise StartError(
            f"cannot listen for HTTP on {where}: {error.strerror or error}; choose another address"
            " with --http-listen, or start with --no-http"
        ) from error


@define(eq=False)
class _Doorman:
    """Lets connections in as long as there are not too many."""

    answer: Answer
    listeners: list[trio.SocketListener]
    scope: trio.CancelScope = Factory(trio.CancelScope)
    inside: int = 0

    async def run(self) -> None:
        """Serves until the scope is cancelled; then every connection is closed."""
        with self.scope:
            await trio.serve_listeners(self.welcome, self.listeners)

    async def welcome(self, stream: trio.SocketStream) -> None:
        if self.inside >= MOST_CONNECTIONS:
            with suppress(trio.BrokenResourceError):
                await stream.send_all(_FULL)
            await trio.aclose_forcefully(stream)
            return
        self.inside += 1
        try:
            await serve_connection(stream, self.answer)
        finally:
            self.inside -= 1
