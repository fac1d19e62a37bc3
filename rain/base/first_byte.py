"""Recognises the protocol of a new connection by its first byte, and makes a plain answer to HTTP.
No I/O.

One port serves clients, governors, readers of data and browsers. The first byte of a connection
tells them apart: our own protocol begins with a small letter (`admission.MAGIC`), the name of a
method of HTTP with a capital one, and a TLS record with 22. One byte is enough, so it does not
matter how the bytes arrive. Inside of TLS the first decrypted byte is used in the same way.
"""

from __future__ import annotations

import enum
from http import HTTPStatus

from rain.base.admission import MAGIC, TLS


class Speaks(enum.Enum):
    """What the other side of a connection speaks."""

    RAIN = "rain"
    HTTP = "http"
    TLS = "tls"
    UNKNOWN = "unknown"


def spoken(first: bytes) -> Speaks | None:
    """By the beginning of what has come; None while nothing has.

    It may not be what it seems to be: the part that reads on judges the rest.
    """
    if not first:
        return None
    if first[0] == MAGIC[0]:
        return Speaks.RAIN
    if first[0] == TLS[0]:
        return Speaks.TLS
    return Speaks.HTTP if first[:1].isupper() else Speaks.UNKNOWN


def http_refusal(status: HTTPStatus, line: str) -> bytes:
    """A whole response with one line of text, after which the connection is closed."""
    body = f"{line}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\ncache-control: no-store"
        "\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: "
    )
    return head.encode() + b"%d\r\n\r\n" % len(body) + body
