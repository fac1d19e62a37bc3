"""Listening: a port, and the connections that it has brought."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from functools import partial

from rain.base.errors import StartError
from rain.rpc.address import plain_host, spell_address
from rain.rpc.connection import LINGER, Connection, accept, peer_host
from rain.rpc.host import host as running_host
from rain.rpc.host import in_host

log = logging.getLogger(__name__)

BACKLOG = 1024
PAUSE = 0.5
"""Seconds before accepting again when the system had nothing left to accept with."""

_SHORT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# accept(2): what went wrong with the connection that was next, not with the listening.
_LOST_ON_THE_WAY = {
    errno.ECONNABORTED,
    errno.EPERM,
    errno.EPROTO,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ETIMEDOUT,
}


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; `StartError` says where it cannot and why."""
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # IPv4 first: peers that are told "localhost" or nothing look there.
        family, kind, protocol, _, address = min(
            found, key=lambda entry: entry[0] != socket.AF_INET
        )
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        where = spell_address(host, port)
        raise StartError(f"cannot listen on {where}: {error.strerror}") from None
    return listening


class Listener:
    """Accepts connections until it is closed; `greet` is called with each and its peer's host."""

    def __init__(
        self,
        host: str,
        port: int,
        greet: Callable[[Connection, str], object],
        on_close: Callable[[], object] = lambda: None,
    ) -> None:
        self._socket = bind(host, port)
        name, number = self._socket.getsockname()[:2]
        self.host: str = plain_host(name)
        self.port: int = number  # also when it was left open which
        self.address = spell_address(self.host, self.port)
        self._greet = greet
        self._on_close = on_close
        self._connections: dict[Connection, None] = {}
        self.accepted = 0  # connections until now
        self._loop = running_host().loop
        self._accepting = self._loop.create_task(self._accept())
        self._accepting.add_done_callback(self._stopped)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def close(self, cause: str = "the listener was closed") -> None:
        """Stops listening, and ends every connection that it brought."""
        self._accepting.cancel()
        self._on_close()
        for connection in list(self._connections):
            connection.end(cause)

    async def drain(self, cause: str = "the listener was closed") -> None:
        """Like `close`, but answers that were given may still arrive: the end of a good program.

        Called from trio; returns when all connections have ended.
        """
        self._accepting.cancel()
        for connection in list(self._connections):
            connection.end_with_reason(cause)
        if self._connections:
            await in_host(asyncio.sleep, LINGER)
        self._on_close()

    async def _accept(self) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(self._socket)
            except OSError as error:
                if error.errno in _SHORT_OF_DESCRIPTORS:
                    log.warning("cannot accept a connection: %s", error.strerror)
                    await asyncio.sleep(PAUSE)
                elif error.errno not in _LOST_ON_THE_WAY:
                    raise
            else:
                await self._welcome(accepted)

    async def _welcome(self, accepted: socket.socket) -> None:
        try:
            came_from = peer_host(accepted)
            connection = await accept(accepted)
        except OSError:
            accepted.close()  # it has gone before it was greeted
            return
        self._connections[connection] = None
        self.accepted += 1
        connection.tell_close(partial(self._connections.pop, connection))
        self._greet(connection, came_from)

    def _stopped(self, task: asyncio.Task[None]) -> None:
        self._socket.close()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            running_host().fail(error)
