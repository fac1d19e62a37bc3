"""Driving the words of admission (rain/base/admission.py) over a socket, before anything else.

The sockets do not block, and trio waits for them. `rain.stream.admission` does the same with
sockets that block.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from typing import TypeVar

import trio

from rain.base import admission
from rain.base.admission import NONCE, Admitted, Role, Secret, Step

T = TypeVar("T")

LIMIT = 10.0
"""Seconds that a peer has to be let in."""


async def admit(accepted: socket.socket, secret: Secret | None, limit: float = LIMIT) -> Admitted:
    """Lets a peer in; `NotAdmittedError`, `ProtocolError`, OSError or trio.TooSlowError if not."""
    with trio.fail_after(limit):
        return await _play(
            admission.accept(_at(secret, accepted.getsockname()), os.urandom(NONCE)), accepted
        )


async def turn_away(accepted: socket.socket, reason: str, limit: float) -> None:
    """Tells a peer why there is no room; OSError or trio.TooSlowError if it does not listen."""
    accepted.setblocking(False)
    with trio.fail_after(limit):
        await _play(admission.turn_away(reason), accepted)


async def introduce(connected: socket.socket, secret: Secret | None, role: Role) -> None:
    """Asks to be let in; the same errors, and the time is the caller's affair."""
    await _play(
        admission.dial(_at(secret, connected.getpeername()), role, os.urandom(NONCE)), connected
    )


def _at(secret: Secret | None, address: tuple[str, int]) -> Secret | None:
    return None if secret is None else secret.at(*address[:2])


async def _play(side: Generator[Step, bytes, T], connected: socket.socket) -> T:
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


async def _send(connected: socket.socket, data: bytes) -> None:
    while data:
        try:
            data = data[connected.send(data) :]
        except BlockingIOError:
            await trio.lowlevel.wait_writable(connected)


async def _receive(connected: socket.socket, count: int) -> bytes:
    """Exactly this number of bytes, and none of those that follow."""
    received = b""
    while len(received) < count:
        await trio.lowlevel.wait_readable(connected)
        try:
            piece = connected.recv(count - len(received))
        except BlockingIOError:
            continue
        if not piece:
            raise ConnectionResetError(None, "it closed the connection before it was let in")
        received += piece
    return received
