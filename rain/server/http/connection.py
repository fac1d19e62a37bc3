"""One HTTP connection: h11 knows the protocol, this file moves its bytes.

The cost of a peer is bounded: requests have a maximum size, a response is sent in pieces, and the
connection to a peer that neither sends nor receives for a while is closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from http import HTTPStatus

import h11
import trio
from attrs import define, field

from rain.base.admission import MemberKind
from rain.server.http.messages import Headers, HttpRequest, Response, text
from rain.tls.errors import TlsError
from rain.tls.identity import Identity
from rain.tls.pump import read_who

LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 64 * 1024
PATIENCE = 30.0
"""Seconds that a peer may take for a request, for a piece of a response, or between the two."""
HEAD_PATIENCE = 5.0
"""Seconds until the request line and the headers have arrived; for later requests, from their
first byte."""

Answer = Callable[[HttpRequest], Awaitable[Response]]

_READERS = frozenset({MemberKind.CLIENT, MemberKind.SERVER})

_NOT_ENCRYPTED = (
    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n"
    b"everything is encrypted here: write https:// instead of http://\n"
)

_EVERYWHERE: Headers = (("cache-control", "no-store"),)
_PIECE = 4 * 1024  # a head may exceed the limit by at most this


class _TooLargeError(Exception):
    """The body of a request is too large; never leaves this file."""


async def serve_connection(
    stream: trio.SocketStream,
    answer: Answer,
    waits: Callable[[bool], object] = bool,
    identity: Identity | None = None,
) -> None:
    """Answers the requests of one connection, one after the other, until it ends.

    `waits` is called with True while a request is awaited, and with False while one is answered.
    """
    connection = _Connection(stream, stream.socket.getsockname()[1], waits)
    try:
        if identity is not None:
            connection.stream = await _encrypted(stream, identity)
            connection.certified = _certified_user(connection.stream)
        while await connection.serve_one(answer):
            pass
        await connection.close()
    except (trio.BrokenResourceError, trio.TooSlowError, h11.RemoteProtocolError):
        return  # it has gone, is too slow, or does not speak HTTP: no answer is possible
    finally:
        await trio.aclose_forcefully(stream)


async def _encrypted(
    stream: trio.SocketStream, identity: Identity
) -> trio.SSLStream[trio.SocketStream]:
    encrypted = trio.SSLStream(stream, identity.for_http, server_side=True, https_compatible=True)
    try:
        with trio.fail_after(HEAD_PATIENCE):
            await encrypted.do_handshake()
    except trio.BrokenResourceError as error:
        if "HTTP_REQUEST" in str(error.__cause__):
            with trio.move_on_after(HEAD_PATIENCE):
                await stream.send_all(_NOT_ENCRYPTED)
        raise
    return encrypted


def _certified_user(stream: trio.SSLStream[trio.SocketStream]) -> str | None:
    """The user whose certificate the other side has; None without one, as most browsers are."""
    found: Mapping[str, object] | None = stream.getpeercert()
    if not found:
        return None
    try:
        who = read_who(found)
    except TlsError:
        return None
    return who.user if who.member in _READERS else None


@define(eq=False)
class _Connection:
    stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]
    port: int
    waits: Callable[[bool], object]
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
            if isinstance(self.stream, trio.SSLStream):
                await self.stream.aclose()
                return
            await self.stream.send_eof()
            while await self.stream.receive_some():
                pass

    async def _head(self) -> h11.Event:
        if not self.begun:
            self.http.receive_data(bytes(await self.stream.receive_some(_PIECE)))
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
            self.http.receive_data(bytes(await self.stream.receive_some(_PIECE)))

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
