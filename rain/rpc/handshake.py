"""Driving what comes before anything else over a socket: TLS, and the words of admission.

The sockets do not block, and trio waits for them. `rain.stream.admission` does the same with
sockets that block.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import trio

from rain.base import admission
from rain.base.admission import NONCE, Admitted, MemberKind, Role, Secret, Step
from rain.base.errors import ProtocolError
from rain.stream.sockets import Connected
from rain.tls import handshake
from rain.tls.encrypted import READ_SIZE, Encrypted
from rain.tls.handshake import Shaking

if TYPE_CHECKING:
    from rain.tls.identity import Identity
    from rain.tls.pump import Pump

T = TypeVar("T")

LIMIT = 10.0
"""Seconds that a peer has to be let in."""

LINGER = 1.0
"""Seconds that a peer is given to read why TLS fails: a reset would overtake it."""


async def accept_tls(accepted: socket.socket, identity: Identity | None) -> Connected:
    """The accepted connection, encrypted where there are certificates; `TlsError` if that fails.

    The caller limits the time, also that of `dial_tls`.
    """
    if identity is None:
        return accepted
    pump = identity.accepting()
    return await _shake(accepted, pump, handshake.accept(pump))


async def dial_tls(connected: socket.socket, identity: Identity | None) -> Connected:
    """The same for a connection to a server."""
    if identity is None:
        return connected
    pump = identity.dialling(MemberKind.SERVER)
    return await _shake(connected, pump, handshake.dial(pump))


async def linger(connected: socket.socket) -> None:
    """Lets a peer read why TLS fails."""
    with suppress(OSError), trio.move_on_after(LINGER):
        connected.shutdown(socket.SHUT_WR)
        while await _receive_some(connected):
            pass


async def admit(accepted: Connected, secret: Secret | None, limit: float = LIMIT) -> Admitted:
    """Lets a peer in; `NotAdmittedError`, `ProtocolError`, OSError or trio.TooSlowError if not."""
    secret = _at(secret, accepted.getsockname())
    who = (accepted.member, accepted.user) if isinstance(accepted, Encrypted) else (None, "")
    with trio.fail_after(limit):
        admitted = await _play(
            admission.accept(secret, os.urandom(NONCE), *who),
            accepted,
        )
    check_quiet(accepted)
    return admitted


def check_quiet(connected: Connected) -> None:
    """After the handshake each side waits for the other: a peer that says more breaks the rules.

    What it says would stay in a pump, and the socket would not show it.
    """
    if isinstance(connected, Encrypted) and connected.has_rest:
        raise ProtocolError("it says more than it was asked before it was let in")


async def turn_away(
    accepted: Connected, reason: str, limit: float, *, stands_by: bool = False
) -> None:
    """Tells a peer why there is no room; OSError or trio.TooSlowError if it does not listen."""
    accepted.setblocking(False)
    with trio.fail_after(limit):
        await _play(admission.turn_away(reason, stands_by=stands_by), accepted)


async def introduce(connected: Connected, secret: Secret | None, role: Role) -> None:
    """Asks to be let in; the same errors. The caller limits the time."""
    await _play(
        admission.dial(_at(secret, connected.getpeername()), role, os.urandom(NONCE)), connected
    )
    check_quiet(connected)


def _at(secret: Secret | None, address: tuple[str, int]) -> Secret | None:
    return None if secret is None else secret.at(*address[:2])


async def _shake(connected: socket.socket, pump: Pump, shaking: Shaking) -> Encrypted:
    try:
        step = next(shaking)
        while True:
            if step is None:
                step = shaking.send(await _receive_some(connected))
            else:
                await _send(connected, step)
                step = shaking.send(b"")
    except StopIteration:
        return Encrypted(connected, pump)


async def _play(side: Generator[Step, bytes, T], connected: Connected) -> T:
    try:
        step = next(side)
        while True:
            if isinstance(step, bytes):
                await _send(connected, step)
                step = side.send(b"")
            else:
                step = side.send(await _receive(connected, step))
    except StopIteration as end:
        result: T = end.value
        return result


async def _send(connected: Connected, data: bytes) -> None:
    while data:
        try:
            data = data[connected.send(data) :]
        except BlockingIOError:
            await trio.lowlevel.wait_writable(connected)


async def _receive(connected: Connected, count: int) -> bytes:
    """Exactly this number of bytes, and none of those that follow."""
    take = connected.take if isinstance(connected, Encrypted) else connected.recv
    received = b""
    while len(received) < count:
        try:
            piece = take(count - len(received))
        except BlockingIOError:
            await trio.lowlevel.wait_readable(connected)
            continue
        if not piece:
            raise ConnectionResetError(None, "it closed the connection before it was let in")
        received += piece
    return received


async def _receive_some(connected: socket.socket) -> bytes:
    while True:
        await trio.lowlevel.wait_readable(connected)
        try:
            return connected.recv(READ_SIZE)
        except BlockingIOError:
            continue
        except ConnectionResetError:  # it has closed, and not read all that we said
            return b""
