"""The start of a connection, before its first message: TLS, and then admission.

The sockets do not block, and trio waits for them. `rain.stream.admission` does the same with
sockets that block.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import trio

from rain.base import admission
from rain.base.admission import NONCE, Admitted, MemberKind, Role, Secret, Step
from rain.base.errors import ProtocolError
from rain.base.first_byte import Speaks, http_refusal, spoken
from rain.stream.admission import LINGER, at_address
from rain.stream.sockets import Connected
from rain.tls import handshake
from rain.tls.encrypted import READ_SIZE, Encrypted
from rain.tls.handshake import Shaking

if TYPE_CHECKING:
    from rain.tls.identity import Identity
    from rain.tls.pump import Pump

T = TypeVar("T")


async def accept_tls(
    accepted: socket.socket, identity: Identity | None, *, certificate_optional: bool = False
) -> Connected:
    """The accepted connection, encrypted where there are certificates; `TlsError` if that fails.

    Browsers have no certificate, so it is optional where HTTP is served. The caller limits the
    time, also that of `dial_tls`.
    """
    if identity is None:
        return accepted
    pump = identity.accepting(certificate_optional=certificate_optional)
    return await _shake(accepted, pump, handshake.accept(pump))


async def dial_tls(connected: socket.socket, identity: Identity | None) -> Connected:
    """The connection to a server, encrypted where there are certificates."""
    if identity is None:
        return connected
    pump = identity.dialling(MemberKind.SERVER)
    return await _shake(connected, pump, handshake.dial(pump))


async def linger(connected: Connected) -> None:
    """Waits until a peer has read why it is not served."""
    with suppress(OSError), trio.move_on_after(LINGER):
        connected.shutdown(socket.SHUT_WR)
        while await receive_some(connected, READ_SIZE):
            pass


async def first_byte(accepted: Connected) -> bytes:
    """The first byte of a connection, which says what it speaks; OSError if there is none."""
    return await _receive(accepted, 1)


async def refuse_http(accepted: Connected, status: HTTPStatus, line: str) -> None:
    """Answers HTTP with one line, whatever was asked; OSError if it has gone."""
    await send_all(accepted, http_refusal(status, line))
    if isinstance(accepted, Encrypted):
        accepted.send_end()
    await linger(accepted)


async def admit(accepted: Connected, secret: Secret | None, first: bytes = b"") -> Admitted:
    """Admits a peer that has sent these bytes so far. The caller limits the time.

    `NotAdmittedError`, `ProtocolError` or OSError if not.
    """
    secret = at_address(secret, accepted.getsockname())
    side = admission.accept(secret, os.urandom(NONCE))
    if isinstance(accepted, Encrypted):
        side = admission.accept(
            secret,
            os.urandom(NONCE),
            accepted.member,
            accepted.user,
            lacks_certificate=accepted.member is None,
        )
    admitted = await _play(side, accepted, first)
    check_quiet(accepted)
    return admitted


def check_quiet(connected: Connected) -> None:
    """Checks that a peer has sent nothing after the handshake, where it has to wait.

    Such bytes would stay in the TLS pump, where the socket does not show them.
    """
    if isinstance(connected, Encrypted) and connected.has_rest:
        raise ProtocolError("it sends more than it may before it is admitted")


async def turn_away(
    accepted: Connected,
    reason: str,
    limit: float,
    *,
    stands_by: bool = False,
    first: bytes = b"",
) -> None:
    """Tells a peer, which has sent these bytes so far, why it is not served.

    OSError or trio.TooSlowError if it does not listen.
    """
    accepted.setblocking(False)
    with trio.fail_after(limit):
        first = first or await first_byte(accepted)
        if spoken(first) is Speaks.HTTP:
            await refuse_http(accepted, HTTPStatus.SERVICE_UNAVAILABLE, reason)
        else:
            await _play(admission.turn_away(reason, stands_by=stands_by), accepted, first)


async def introduce(connected: Connected, secret: Secret | None, role: Role) -> None:
    """Asks for admission; raises the same errors. The caller limits the time."""
    await _play(
        admission.dial(at_address(secret, connected.getpeername()), role, os.urandom(NONCE)),
        connected,
    )
    check_quiet(connected)


async def _shake(connected: socket.socket, pump: Pump, shaking: Shaking) -> Encrypted:
    try:
        step = next(shaking)
        while True:
            if step is None:
                step = shaking.send(await _receive_or_end(connected))
            else:
                await send_all(connected, step)
                step = shaking.send(b"")
    except StopIteration:
        return Encrypted(connected, pump)


async def _play(side: Generator[Step, bytes, T], connected: Connected, came: bytes = b"") -> T:
    """Plays a side; what it receives begins with the bytes that have come, one at most."""
    try:
        step = next(side)
        while True:
            if isinstance(step, bytes):
                await send_all(connected, step)
                step = side.send(b"")
            else:
                step, came = side.send(await _receive(connected, step, came)), b""
    except StopIteration as end:
        result: T = end.value
        return result


async def send_all(connected: Connected, data: bytes) -> None:
    """Sends all of the data."""
    left = memoryview(data)
    while left:
        try:
            left = left[connected.send(left) :]
        except BlockingIOError:
            await trio.lowlevel.wait_writable(connected)


async def receive_some(connected: Connected, most: int) -> bytes:
    """Some of what comes next, and nothing at the end."""
    take = connected.take if isinstance(connected, Encrypted) else connected.recv
    while True:
        try:
            return take(most)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(connected)


async def _receive(connected: Connected, count: int, received: bytes = b"") -> bytes:
    """Exactly this number of bytes with those that have come, and none of those that follow."""
    while len(received) < count:
        piece = await receive_some(connected, count - len(received))
        if not piece:
            raise ConnectionResetError(None, "it closed the connection before it was admitted")
        received += piece
    return received


async def _receive_or_end(connected: socket.socket) -> bytes:
    try:
        return await receive_some(connected, READ_SIZE)
    except ConnectionResetError:  # it has closed, and not read all that we said
        return b""
