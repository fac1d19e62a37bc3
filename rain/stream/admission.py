"""The admission handshake (rain/base/admission.py) over a blocking socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from typing import TypeVar

from rain.base import admission
from rain.base.admission import NONCE, Role, Secret, Step
from rain.stream import sockets
from rain.stream.sockets import BrokenError

T = TypeVar("T")


def admit(accepted: socket.socket, secret: Secret | None) -> None:
    """Admits a reader, or raises `NotAdmittedError`, `ProtocolError` or `BrokenError`."""
    _play(admission.accept(_at(secret, accepted.getsockname()), os.urandom(NONCE)), accepted)


def introduce(connected: socket.socket, secret: Secret | None, role: Role = Role.READER) -> None:
    """Asks for admission; raises the same errors."""
    _play(admission.dial(_at(secret, connected.getpeername()), role, os.urandom(NONCE)), connected)


def _at(secret: Secret | None, address: tuple[str, int]) -> Secret | None:
    return None if secret is None else secret.at(*address[:2])


def _play(side: Generator[Step, bytes, T], connected: socket.socket) -> None:
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
