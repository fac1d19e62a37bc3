"""The server's port, and the connections that were accepted there."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

import trio
from attrs import frozen

from rain.base.admission import Admitted, NotAdmittedError, Role
from rain.base.errors import ProtocolError
from rain.base.first_byte import Speaks, spoken
from rain.rpc.handshake import accept_tls, admit, first_byte, linger, refuse_http
from rain.rpc.link import Link
from rain.rpc.port import Port
from rain.rpc.sockets import peer_host, prepare
from rain.rpc.streams import end_streams
from rain.stream.serving import StreamServer
from rain.stream.sockets import Connected
from rain.tls.errors import TlsError
from rain.tls.keys import NO_KEYS, Keys

log = logging.getLogger(__name__)

MOST_NEW = 1024
"""Connections that have not said who they are, at most: then the oldest of them is closed."""

Greet: TypeAlias = Callable[[Connected, str, Admitted], Link]
"""Makes the link of an admitted peer, given its host and its role."""


NOT_ENCRYPTED = "nothing is encrypted here: write http:// instead of https://"

ServeHttp: TypeAlias = Callable[[Connected, bytes], Awaitable[None]]
"""Serves a connection that speaks HTTP, of which these bytes have come; closes it at the end."""


@frozen
class SpeaksHttp:
    """A connection that speaks HTTP, and is served as such."""

    serve: ServeHttp
    first: bytes  # what has come of it


class Listener:
    """The server's port: connections are greeted with their peer's host, streams are taken.

    Connections that speak HTTP go to `http`. While that is None, a cluster with certificates
    accepts no connection without one, and HTTP is answered with `no_http`.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        where: tuple[str, int] | Port,
        greet: Greet,
        streams: StreamServer,
        first_word: float,
        keys: Keys = NO_KEYS,
    ) -> None:
        """At an address, or at a port that was opened before, and runs."""
        is_open = isinstance(where, Port)
        self._port = where if isinstance(where, Port) else Port(*where, self._welcome_soon)
        self._port.take = self._welcome_soon
        self.host = self._port.host
        self.port = self._port.port
        self.address = self._port.address
        self._nursery = nursery
        self._greet = greet
        self._streams = streams
        self._first_word = first_word
        self._keys = keys
        self.http: ServeHttp | None = None
        self.no_http = "this is the port of a Rain server, and it serves no HTTP here"
        self._is_closed = False
        self._links: dict[Link, None] = {}
        self._quiet = trio.Event()  # no connection is left
        self._new: dict[trio.CancelScope, None] = {}  # of those that have not been let in yet
        self.accepted = 0  # connections that were greeted until now
        if not is_open:
            nursery.start_soon(self._port.run)

    def close(self, cause: str = "the listener was closed") -> None:
        """Stops listening, and ends every connection that it brought."""
        self._stop_accepting()
        for link in list(self._links):
            link.end(cause)

    async def drain(self, cause: str = "the listener was closed") -> None:
        """Like `close`, but answers that were sent may still arrive.

        This is the regular end of the program. Returns when all connections have ended.
        """
        self._stop_accepting()
        for link in list(self._links):
            link.end_with_reason(cause)
        while self._links:
            self._quiet = trio.Event()
            await self._quiet.wait()
        await end_streams(self._streams)

    def _stop_accepting(self) -> None:
        self._is_closed = True
        self._port.close()
        self._streams.close()
        for scope in self._new:
            scope.cancel()

    def _welcome_soon(self, accepted: socket.socket) -> None:
        self._nursery.start_soon(self._welcome, accepted)

    async def _welcome(self, accepted: socket.socket) -> None:
        if self._is_closed:  # it was accepted just before
            accepted.close()
            return
        try:
            accepted.setblocking(False)
            came_from = peer_host(accepted)
            prepare(accepted)
            let_in = await self._let_in(accepted, came_from)
            if let_in is None:
                accepted.close()
                return
            connected, admitted = let_in
            if isinstance(admitted, SpeaksHttp):
                await admitted.serve(connected, admitted.first)
                return
            if admitted.role is Role.READER:
                self._streams.take(connected, admitted=True)
                return
        except OSError:
            accepted.close()  # it has gone before it was greeted
            return
        except BaseException:
            accepted.close()
            raise
        link = self._greet(connected, came_from, admitted)
        self._links[link] = None
        self.accepted += 1
        try:
            await link.run()
        finally:
            del self._links[link]
            self._quiet.set()

    async def _let_in(
        self, accepted: socket.socket, came_from: str
    ) -> tuple[Connected, Admitted | SpeaksHttp] | None:
        """The connection of a peer that may come in, and as what; None for one that may not."""
        if len(self._new) >= MOST_NEW:
            oldest = next(iter(self._new))
            del self._new[oldest]
            oldest.cancel()
        scope = trio.CancelScope()
        self._new[scope] = None
        try:
            with scope:
                return await self._judge(accepted, came_from)
        finally:
            self._new.pop(scope, None)
        return None

    async def _judge(
        self, accepted: socket.socket, came_from: str
    ) -> tuple[Connected, Admitted | SpeaksHttp] | None:
        identity, http, first = self._keys.identity, self.http, b""
        try:
            with trio.fail_after(self._first_word):
                connected = await accept_tls(
                    accepted, identity, certificate_optional=http is not None
                )
                first = await first_byte(connected)
                speaks = spoken(first)
                if speaks is Speaks.HTTP and http is not None:
                    return connected, SpeaksHttp(http, first)
                if speaks is Speaks.HTTP:
                    await refuse_http(connected, HTTPStatus.NOT_FOUND, self.no_http)
                    return None
                if speaks is Speaks.TLS:  # they know that from a plain HTTP answer
                    await refuse_http(connected, HTTPStatus.BAD_REQUEST, NOT_ENCRYPTED)
                    raise ProtocolError("it encrypts, and this side was started without --tls")
                return connected, await admit(connected, self._keys.secret, first)
        except TlsError as error:
            log.warning("a peer from %s was not admitted: %s", came_from, error.strerror)
            await linger(accepted)
        except (NotAdmittedError, ProtocolError) as error:
            log.warning("a peer from %s was not admitted: %s", came_from, error)
        except trio.TooSlowError:
            # Browsers open connections that they may need later: these are not logged.
            level = logging.DEBUG if http is not None and not first else logging.WARNING
            log.log(level, "a peer from %s did not identify itself in time", came_from)
        return None
