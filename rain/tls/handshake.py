"""The TLS handshake of both sides as generators, which the owners of sockets drive. No I/O.

They yield bytes to send, or None to receive something: whatever has come, and nothing at the end.
After an error that has something for the other side, it is yielded before the error is raised.
"""

from __future__ import annotations

from collections.abc import Generator
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias

from rain.base.admission import ENCRYPTED, MAGIC
from rain.base.first_byte import Speaks, http_refusal, spoken
from rain.tls.errors import NotTlsError, TlsError

if TYPE_CHECKING:
    from rain.tls.pump import Pump

Shaking: TypeAlias = Generator["bytes | None", bytes, None]

_RECORD_OF_HANDSHAKE = 0x16

NOT_ENCRYPTED = http_refusal(
    HTTPStatus.BAD_REQUEST, "everything is encrypted here: write https:// instead of http://"
)

LONGEST = 128 * 1024
"""Bytes of the other side until the handshake is done."""


def accept(pump: Pump) -> Shaking:
    """The accepting side. A peer that does not encrypt is told so in words that it knows."""
    first = yield None
    if pump.certificate_optional and spoken(first) is Speaks.HTTP:
        yield NOT_ENCRYPTED
        raise NotTlsError("it does not encrypt: it was told to write https:// instead of http://")
    if first and first[0] != _RECORD_OF_HANDSHAKE:
        if MAGIC.startswith(first[: len(MAGIC)]):
            yield ENCRYPTED
            raise NotTlsError("it does not encrypt, and here everything is encrypted (--tls)")
        raise NotTlsError("it does not speak TLS")
    yield from _shake(pump, first)


def dial(pump: Pump) -> Shaking:
    """The dialling side, which speaks first."""
    pump.shake_hands()
    yield pump.to_send()
    first = yield None
    if not first:
        raise NotTlsError("it does not answer in TLS; was it started without --tls?")
    yield from _shake(pump, first)


def _shake(pump: Pump, came: bytes) -> Shaking:
    total = 0
    while True:
        if not came:
            raise NotTlsError("it closed the connection in the TLS handshake")
        total += len(came)
        if total > LONGEST:
            raise TlsError("it says too much in the TLS handshake")
        pump.feed(came)
        try:
            done = pump.shake_hands()
        except TlsError:
            yield from _said(pump)
            raise
        yield from _said(pump)
        if done:
            return
        came = yield None


def _said(pump: Pump) -> Generator[bytes, bytes, None]:
    data = pump.to_send()
    if data:
        yield data
