"""Requests and responses, independent of their encoding."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Protocol

from attrs import frozen

from rain.base.users import OWNER

Headers = tuple[tuple[str, str], ...]


@frozen
class HttpRequest:
    """A complete request."""

    method: str
    path: str  # without the query string
    body: bytes = b""
    query: str = ""
    authorization: str = ""  # the header of this name
    port: int = 0  # where it arrived
    host: str = ""  # the header of this name
    origin: str = ""  # the header of this name, which browsers send
    certified: str | None = None  # the user who has sent it, if its certificate says so
    user: str = OWNER  # as whom it is answered


class PiecedBody(Protocol):
    """A long body whose pieces are made on demand."""

    async def next(self) -> bytes | None:
        """The next piece, None after the last one; raises `trio.BrokenResourceError` on failure."""
        ...

    def close(self) -> None:
        """Called once at the end of the response, for any reason."""
        ...


@frozen
class Response:
    """A response."""

    status: HTTPStatus
    content_type: str
    body: bytes | PiecedBody = b""
    headers: Headers = ()


def text(status: HTTPStatus, line: str, headers: Headers = ()) -> Response:
    """A response with one line of text."""
    return Response(status, "text/plain; charset=utf-8", f"{line}\n".encode(), headers)


def page(html: str) -> Response:
    """A response with an HTML page."""
    return Response(HTTPStatus.OK, "text/html; charset=utf-8", html.encode())


def json_value(value: object) -> Response:
    """A response with a JSON value."""
    body = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(HTTPStatus.OK, "application/json", f"{body}\n".encode())
