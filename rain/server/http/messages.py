"""What a request asks and what a response says, apart from how they travel."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Protocol

from attrs import frozen

Headers = tuple[tuple[str, str], ...]


@frozen
class Request:
    """A request that has come whole."""

    method: str
    path: str  # without the query string
    body: bytes = b""
    query: str = ""
    authorization: str = ""  # the header of this name
    port: int = 0  # at which it came
    host: str = ""  # the header of this name
    origin: str = ""  # the header of this name, which browsers send


class Pieces(Protocol):
    """A long body, each piece of which is made when the one before was sent."""

    async def next(self) -> bytes | None:
        """The next piece, None after the last; `trio.BrokenResourceError` when there is none."""
        ...

    def close(self) -> None:
        """Called once, however the response ends."""
        ...


@frozen
class Response:
    """A response."""

    status: HTTPStatus
    content_type: str
    body: bytes | Pieces = b""
    headers: Headers = ()


def text(status: HTTPStatus, line: str, headers: Headers = ()) -> Response:
    """One line for people."""
    return Response(status, "text/plain; charset=utf-8", f"{line}\n".encode(), headers)


def page(html: str) -> Response:
    """A page for a browser."""
    return Response(HTTPStatus.OK, "text/html; charset=utf-8", html.encode())


def json_value(value: object) -> Response:
    """A value as JSON."""
    body = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(HTTPStatus.OK, "application/json", f"{body}\n".encode())
