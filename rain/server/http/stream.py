"""The bytes of one HTTP connection, plain or encrypted, as trio's streams have them."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager

import trio

from rain.rpc.handshake import receive_some, send_all
from rain.stream.sockets import Connected
from rain.tls.encrypted import Encrypted


class HttpStream:
    """Raises `trio.BrokenResourceError` when the other side has gone.

    What was received to see what the connection speaks comes first.
    """

    def __init__(self, connected: Connected, came: bytes = b"") -> None:
        self.connected = connected
        self._came = came

    async def receive_some(self, most: int) -> bytes:
        """Some bytes, and nothing at the end."""
        await trio.lowlevel.checkpoint()  # one that has said much keeps no other one waiting
        if self._came:
            came, self._came = self._came, b""
            return came
        with _or_broken():
            return await receive_some(self.connected, most)

    async def send_all(self, data: bytes) -> None:
        """Sends all of the data."""
        await trio.lowlevel.checkpoint()
        with _or_broken():
            await send_all(self.connected, data)

    async def end(self) -> None:
        """Says that nothing more comes, and waits until the other side has said so."""
        with _or_broken():
            if isinstance(self.connected, Encrypted):
                self.connected.send_end()
            self.connected.shutdown(socket.SHUT_WR)
        while await self.receive_some(4096):
            pass


@contextmanager
def _or_broken() -> Generator[None]:
    try:
        yield
    except OSError as error:  # of TLS, too
        raise trio.BrokenResourceError(str(error)) from error
