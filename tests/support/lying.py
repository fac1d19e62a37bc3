"""A server that lies: what it says to one client or governor is spoiled on its way."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from rain.base.admission import HELLO, MAGIC

PATIENCE = 0.03
"""Seconds of silence after which a server that has lied hangs up, so that nobody waits for it."""


class LyingProxy:
    """Passes on what one pair of peers says; one piece of the server becomes another one.

    The pieces are what arrives at once behind the door, counted from 0.
    """

    def __init__(self, port: int, at: int, lie: Callable[[bytes], bytes]) -> None:
        self._behind = port
        self._at = at
        self._lie = lie
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.pieces = 0

    @property
    def has_lied(self) -> bool:
        return self.pieces > self._at >= 0

    def run(self) -> None:
        near, _ = self._listener.accept()
        with near, socket.create_connection(("127.0.0.1", self._behind)) as far:
            self._listener.close()
            with suppress(OSError):
                self._pass_on(near, far)

    def close(self) -> None:
        """Nobody has come."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        far.sendall(near.recv(len(MAGIC) + HELLO, socket.MSG_WAITALL))
        near.sendall(far.recv(1))  # it is let in
        while True:
            limit = PATIENCE if self.has_lied else None
            ready, _, _ = select.select([near, far], [], [], limit)
            if not ready:
                return
            for one in ready:
                piece = one.recv(1 << 16)
                if not piece:
                    return
                if one is near:
                    far.sendall(piece)
                else:
                    near.sendall(self._lie(piece) if self.pieces == self._at else piece)
                    self.pieces += 1


@contextmanager
def lying(port: int, at: int, lie: Callable[[bytes], bytes]) -> Generator[LyingProxy]:
    """Such a proxy in a thread, for one caller."""
    proxy = LyingProxy(port, at, lie)
    thread = threading.Thread(target=proxy.run)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
