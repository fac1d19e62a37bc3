"""Driving the words of admission (rain/base/admission.py) over a socket, before anything else.

Whoever opens or accepts a socket of ours, for Cap'n Proto or for anything else, calls these first.
"""

import asyncio
import os
import socket
from collections.abc import Generator
from typing import TypeVar

from rain.base import admission
from rain.base.admission import NONCE, Admitted, Role, Secret, Step

T = TypeVar("T")

LIMIT = 10.0
"""Seconds that a peer has to be let in."""


async def admit(accepted: socket.socket, secret: Secret | None, limit: float = LIMIT) -> Admitted:
    """Lets a peer in; `NotAdmittedError`, `ProtocolError`, OSError or TimeoutError if not."""
    async with asyncio.timeout(limit):
        return await _play(
            admission.accept(_at(secret, accepted.getsockname()), os.urandom(NONCE)), accepted
        )


async def turn_away(accepted: socket.socket, reason: str, limit: float) -> None:
    """Tells a peer why there is no room for it; OSError or TimeoutError if it does not listen."""
    accepted.setblocking(False)
    async with asyncio.timeout(limit):
        await _play(admission.turn_away(reason), accepted)


async def introduce(connected: socket.socket, secret: Secret | None, role: Role) -> None:
    """Asks to be let in; the same errors, and the time is the caller's affair."""
    await _play(
        admission.dial(_at(secret, connected.getpeername()), role, os.urandom(NONCE)), connected
    )


def _at(secret: Secret | None, address: tuple[str, int]) -> Secret | None:
    return None if secret is None else secret.at(*address[:2])


async def _play(side: Generator[Step, bytes, T], connected: socket.socket) -> T:
    loop = asyncio.get_running_loop()
    try:
        step = next(side)
        while True:
            if isinstance(step, bytes):
                await loop.sock_sendall(connected, step)
                step = side.send(b"")
            else:
                step = side.send(await _receive(loop, connected, step))
    except StopIteration as end:
        result: T = end.value
        return result


async def _receive(loop: asyncio.AbstractEventLoop, connected: socket.socket, count: int) -> bytes:
    """Exactly so many bytes, and not one of those that follow."""
    received = b""
    while len(received) < count:
        piece = await loop.sock_recv(connected, count - len(received))
        if not piece:
            raise ConnectionResetError(None, "it closed the connection before it was let in")
        received += piece
    return received
