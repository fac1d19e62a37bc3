"""One HTTP connection: h11 knows the protocol, this file moves its bytes.

The cost of a peer is bounded: requests have a maximum size, a response is sent in pieces, and the
connection to a peer that neither sends nor receives for a while is closed.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from http import HTTPStatus

import h11
import trio
from attrs import define, field

from rain.base.admission import MemberKind
from rain.base.first_byte import Speaks, spoken
from rain.rpc.handshake import accept_tls, first_byte, linger, refuse_http, turn_away
from rain.rpc.listener import NOT_ENCRYPTED
from rain.server.http.messages import Headers, HttpRequest, Response, text
from rain.server.http.stream import HttpStream
from rain.stream.sockets import Connected
from rain.tls.encrypted import Encrypted
from rain.tls.errors import TlsError
from rain.tls.identity import Identity

LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 64 * 1024
PATIENCE = 30.0
"""Seconds that a peer may take for a request, for a piece of a response, or between the two."""
HEAD_PATIENCE = 5.0
"""Seconds until the request line and the headers have arrived; for later requests, from their
first byte."""

Answer = Callable[[HttpRequest], Awaitable[Response]]
Waits = Callable[[bool], object]

_READERS = frozenset({MemberKind.CLIENT, MemberKind.SERVER})

_HTTP_ALONE = "this is a port for HTTP alone: name the port of the server (its --listen)"

_EVERYWHERE: Headers = (("cache-control", "no-store"),)
_PIECE = 4 * 1024  # a head may exceed the limit by at most this


class _TooLargeError(Exception):
    """The body of a request is too large; never leaves this file."""


async def serve_connection(
    connected: Connected,
    answer: Answer,
    came: bytes,
    waits: Waits,
) -> None:
    """Answers the requests of one connection, one after the other, until it ends.

    `came` is what has been received of it. `waits` is called with True while a request is awaited,
    and with False while one is answered. The caller closes the connection.
    """
    stream = HttpStream(connected, came)
    connection = _Connection(stream, connected.getsockname()[1], waits, _certified_user(connected))
    try:
        while await connection.serve_one(answer):
            pass
        await connection.close()
    except (trio.BrokenResourceError, trio.TooSlowError, h11.RemoteProtocolError):
        return  # it has gone, is too slow, or does not speak HTTP: no answer is possible


async def greet(
    accepted: socket.socket, identity: Identity | None
) -> tuple[Connected, bytes] | None:
    """A connection to a port for HTTP alone, after TLS if there is any, and its first byte.

    None if it fails, or is no HTTP: then the other side was told so.
    """
    try:
        with trio.fail_after(HEAD_PATIENCE):
            connected = await accept_tls(accepted, identity, certificate_optional=True)
            first = await first_byte(connected)
            speaks = spoken(first)
            if speaks is Speaks.RAIN:
                await turn_away(connected, _HTTP_ALONE, HEAD_PATIENCE, first=first)
            elif speaks is Speaks.TLS:
                await refuse_http(connected, HTTPStatus.BAD_REQUEST, NOT_ENCRYPTED)
            else:
                return connected, first
    except TlsError:
        await linger(accepted)
    except (OSError, trio.TooSlowError):
        pass  # it has gone, or says nothing
    return None


def _certified_user(connected: Connected) -> str | None:
    """The user whose certificate the other side has; None without one, as most browsers are."""
    if isinstance(connected, Encrypted) and connected.member in _READERS:
        return connected.user
    return None


@define(eq=False)
class _Connection:
    stream: HttpStream
    port: int
    waits: Waits
    certified: str | None = None
    http: h11.Connection = field(
        init=False,
        factory=lambda: h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD),
    )
    begun: bool = True  # a request, or the connection itself

    async def serve_one(self, answer: Answer) -> bool:
        """Handles one request; returns whether there may be another one."""
        self.waits(True)
        try:
            with trio.fail_after(PATIENCE):
                head = await self._head()
                if not isinstance(head, h11.Request):
                    return False  # the peer has closed
                path, _, query = head.target.decode("latin-1").partition("?")
                method = head.method.decode("ascii")
                body = await self._body()
                request = HttpRequest(
                    method,
                    path,
                    body,
                    query,
                    _header(head, b"authorization"),
                    self.port,
                    _header(head, b"host"),
                    _header(head, b"origin"),
                    self.certified,
                )
        except h11.RemoteProtocolError as error:
            if self.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
                raise
            status = HTTPStatus(error.error_status_hint)
            await self._respond(text(status, f"the request is not HTTP: {error}"), close=True)
            return False
        except _TooLargeError:
            too_large = f"the body of a request may have {LARGEST_BODY} bytes at most"
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            await self._respond(text(status, too_large), close=True)
            return False
        self.waits(False)
        await self._respond(await answer(request), without_body=request.method == "HEAD")
        if self.http.our_state is not h11.DONE or self.http.their_state is not h11.DONE:
            return False
        self.http.start_next_cycle()
        self.begun = bool(self.http.trailing_data[0])
        return True

    async def close(self) -> None:
        """Closes the connection so that the peer still gets all data."""
        with trio.move_on_after(PATIENCE):
            await self.stream.end()

    async def _head(self) -> h11.Event:
        if not self.begun:
            self.http.receive_data(await self.stream.receive_some(_PIECE))
        with trio.fail_after(HEAD_PATIENCE):
            return await self._event()

    async def _event(self) -> h11.Event:
        while True:
            event = self.http.next_event()
            if not isinstance(event, type):
                return event
            if self.http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._send(go_on)
            self.http.receive_data(await self.stream.receive_some(_PIECE))

    async def _body(self) -> bytes:
        body = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            body += event.data
            if len(body) > LARGEST_BODY:
                raise _TooLargeError
        return bytes(body)

    async def _respond(
        self, response: Response, *, close: bool = False, without_body: bool = False
    ) -> None:
        body = response.body
        headers = [("content-type", response.content_type), *_EVERYWHERE, *response.headers]
        if isinstance(body, bytes):
            headers.append(("content-length", str(len(body))))
        if close:
            headers.append(("connection", "close"))
        head = h11.Response(
            status_code=response.status, headers=headers, reason=response.status.phrase
        )
        if isinstance(body, bytes):
            data = h11.Data(data=b"" if without_body else body)
            await self._send(head, data, h11.EndOfMessage())
            return
        with closing(body):
            await self._send(head)
            while (piece := await body.next()) is not None:
                await self._send(h11.Data(data=piece))
        await self._send(h11.EndOfMessage())

    async def _send(self, *events: h11.Event) -> None:
        data = b"".join([self.http.send(event) or b"" for event in events])
        with trio.fail_after(PATIENCE):
            await self.stream.send_all(data)


def _header(head: h11.Request, wanted: bytes) -> str:
    for name, value in head.headers:
        if name == wanted:
            return value.decode("latin-1")
    return ""
