"""Begins a connection over a blocking socket: TLS, and then the admission handshake."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from rain.base import admission
from rain.base.admission import NONCE, MemberKind, Role, Secret, Step
from rain.stream import sockets
from rain.stream.sockets import BrokenError, Connected, StalledError
from rain.tls import handshake
from rain.tls.encrypted import READ_SIZE, Encrypted
from rain.tls.errors import TlsError
from rain.tls.handshake import Shaking

if TYPE_CHECKING:
    from rain.tls.identity import Identity
    from rain.tls.pump import Pump

T = TypeVar("T")


LINGER = 1.0
"""Seconds that a peer has to read why it is not served: closing at once could reset the connection
first.
"""


def accept_tls(
    accepted: socket.socket, identity: Identity | None, seconds: float = sockets.STALL_LIMIT
) -> Connected:
    """The accepted connection, encrypted where there are certificates; `TlsError` if that fails.

    All of it has to be done within that number of seconds.
    """
    if identity is None:
        return accepted
    pump = identity.accepting()
    return _shake(accepted, pump, handshake.accept(pump), seconds)


def dial_tls(
    connected: socket.socket, identity: Identity | None, member: MemberKind, seconds: float
) -> Connected:
    """The same for a connection to this member."""
    if identity is None:
        return connected
    pump = identity.dialling(member)
    return _shake(connected, pump, handshake.dial(pump), seconds)


def admit(accepted: Connected, secret: Secret | None) -> None:
    """Admits a reader, or raises `NotAdmittedError`, `ProtocolError` or `BrokenError`."""
    who = (accepted.member, accepted.user) if isinstance(accepted, Encrypted) else (None, "")
    side = admission.accept(at_address(secret, accepted.getsockname()), os.urandom(NONCE), *who)
    _play(side, accepted)


def introduce(connected: Connected, secret: Secret | None, role: Role = Role.READER) -> None:
    """Asks for admission; raises the same errors."""
    _play(
        admission.dial(at_address(secret, connected.getpeername()), role, os.urandom(NONCE)),
        connected,
    )


def at_address(secret: Secret | None, address: tuple[str, int]) -> Secret | None:
    """The secret as it is proven to who is at this address of a socket."""
    return None if secret is None else secret.at(*address[:2])


def _shake(connected: socket.socket, pump: Pump, shaking: Shaking, seconds: float) -> Encrypted:
    due = time.monotonic() + seconds
    try:
        step = next(shaking)
        while True:
            if step is None:
                step = shaking.send(_receive_some(connected))
            else:
                sockets.send(connected, step)
                step = shaking.send(b"")
            if time.monotonic() > due:
                raise StalledError("the other side takes too long for the TLS handshake")
    except StopIteration:
        encrypted = Encrypted(connected, pump)
        encrypted.limit = seconds
        return encrypted
    except TlsError:
        _linger(connected)
        raise


def _receive_some(connected: socket.socket) -> bytes:
    try:
        return connected.recv(READ_SIZE)
    except ConnectionResetError:  # it has closed, and not read all that we said
        return b""
    except OSError as error:
        raise sockets.broken(error) from None


def _linger(connected: socket.socket) -> None:
    due = time.monotonic() + LINGER
    with suppress(OSError):
        sockets.limit_waiting(connected, LINGER)
        connected.shutdown(socket.SHUT_WR)
        while time.monotonic() < due and connected.recv(READ_SIZE):
            pass


def _play(side: Generator[Step, bytes, T], connected: Connected) -> None:
    try:
        step = next(side)
        while True:
            if isinstance(step, bytes):
                sockets.send(connected, step)
                step = side.send(b"")
            else:
                received = sockets.receive(connected, step)
                if not received:
                    raise BrokenError("it closed the connection before it was admitted")
                step = side.send(received)
    except StopIteration:
        return
