"""A link that can be cut as a cable is: what is said on it arrives nowhere, and nobody is told."""

from __future__ import annotations

import select
import socket
import threading
from types import TracebackType
from typing import Self


class SwallowingProxy:
    """Listens, and passes bytes on to the address behind it until it is cut.

    Each connection is a pair of sockets. Once cut, it reads everything and passes on nothing.
    """

    def __init__(self, host: str, port: int) -> None:
        self._behind = (host, port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._partners: dict[socket.socket, socket.socket] = {}
        self._wake_read, self._wake = socket.socketpair()
        self._cut = False
        self._thread = threading.Thread(target=self._work, name="swallowing-proxy", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """From now on nothing arrives, in either direction."""
        self._cut = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wake.close()
        self._thread.join()
        for one in (self._listening, self._wake_read, *self._partners):
            one.close()

    def _work(self) -> None:
        while True:
            ready, _, _ = select.select([self._wake_read, self._listening, *self._partners], [], [])
            if self._wake_read in ready:
                return
            for one in ready:
                if one is self._listening:
                    self._join()
                elif one in self._partners:
                    self._pass_on(one)

    def _join(self) -> None:
        near, _ = self._listening.accept()
        far = socket.create_connection(self._behind)
        self._partners[near], self._partners[far] = far, near

    def _pass_on(self, source: socket.socket) -> None:
        target = self._partners[source]
        try:
            piece = source.recv(1 << 16)
            if piece and not self._cut:
                target.sendall(piece)
        except ConnectionError:
            piece = b""
        if not piece:
            self._forget(source)
            if not self._cut:
                self._forget(target)

    def _forget(self, one: socket.socket) -> None:
        if self._partners.pop(one, None) is not None:
            one.close()
