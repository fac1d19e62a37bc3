"""The server's port, and the connections that it has brought."""

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial

from rain.base.admission import NotAdmittedError, Role, Secret
from rain.base.errors import ProtocolError
from rain.rpc.connection import LINGER, Connection, accept, peer_host
from rain.rpc.handshake import admit
from rain.rpc.host import host as running_host
from rain.rpc.host import in_host
from rain.rpc.port import Port
from rain.rpc.streams import end_streams
from rain.stream.serving import StreamServer

log = logging.getLogger(__name__)


class Listener:
    """The server's port: connections are greeted with their peer's host, streams are taken."""

    def __init__(
        self,
        host: str,
        port: int,
        greet: Callable[[Connection, str, Role], object],
        streams: StreamServer,
        first_word: float,
        secret: Secret | None = None,
    ) -> None:
        self._port = Port(host, port, self._welcome_soon)
        self.host = self._port.host
        self.port = self._port.port
        self.address = self._port.address
        self._greet = greet
        self._streams = streams
        self._first_word = first_word
        self._secret = secret
        self._connections: dict[Connection, None] = {}
        self._new: dict[asyncio.Task[None], None] = {}  # those that have not spoken yet
        self.accepted = 0  # connections that were greeted until now

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def close(self, cause: str = "the listener was closed") -> None:
        """Stops listening, and ends every connection that it brought."""
        self._stop_accepting()
        for connection in list(self._connections):
            connection.end(cause)

    async def drain(self, cause: str = "the listener was closed") -> None:
        """Like `close`, but answers that were given may still arrive: the end of a good program.

        Called from trio; returns when all connections have ended.
        """
        self._stop_accepting()
        for connection in list(self._connections):
            connection.end_with_reason(cause)
        if self._connections:
            await in_host(asyncio.sleep, LINGER)
        await end_streams(self._streams)

    def _stop_accepting(self) -> None:
        self._port.close()
        self._streams.close()
        for task in list(self._new):
            task.cancel()

    def _welcome_soon(self, accepted: socket.socket) -> None:
        task = running_host().loop.create_task(self._welcome(accepted))
        self._new[task] = None
        task.add_done_callback(partial(self._welcomed, accepted))

    async def _welcome(self, accepted: socket.socket) -> None:
        try:
            came_from = peer_host(accepted)
            role = await self._let_in(accepted, came_from)
            if role is Role.READER:
                self._streams.take(accepted, admitted=True)
                return
            if role is None:
                accepted.close()
                return
            connection = await accept(accepted)
        except (OSError, asyncio.CancelledError):
            accepted.close()  # it has gone before it was greeted, or has said nothing
            return
        self._connections[connection] = None
        self.accepted += 1
        connection.tell_close(partial(self._connections.pop, connection))
        self._greet(connection, came_from, role)

    async def _let_in(self, accepted: socket.socket, came_from: str) -> Role | None:
        """The role of a peer that may come in; None for one that may not."""
        try:
            return (await admit(accepted, self._secret, self._first_word)).role
        except (NotAdmittedError, ProtocolError) as error:
            log.warning("a peer from %s was not let in: %s", came_from, error)
        except TimeoutError:
            log.warning("a peer from %s did not say who it is in time", came_from)
        return None

    def _welcomed(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        del self._new[task]
        if task.cancelled():
            accepted.close()  # the task had not begun
            return
        error = task.exception()
        if error is not None:
            running_host().fail(error)
