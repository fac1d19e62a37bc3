"""An encrypted socket: the part of the socket interface that links and streams use, over a TLS
pump.

It blocks or does not, as its socket does; a limit of the kernel for waiting applies to it as well.
One thread at a time sends and receives; any thread may shut it down.

The end of a stream is not authenticated (no close_notify is sent or required, except in HTTP).
Messages and transfers have lengths of their own, so a truncation is noticed.
"""

from __future__ import annotations

import errno
import socket
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rain.base.admission import MemberKind
    from rain.tls.pump import Pump

STEP = 128 * 1024
"""Plain bytes that are encrypted at once: more do not stay in the caches of a processor."""

READ_SIZE = 256 * 1024


class Encrypted:
    """An encrypted connection."""

    def __init__(self, connected: socket.socket, pump: Pump) -> None:
        self.socket = connected
        who = None if pump.lacks_certificate else pump.who
        # Of the other side; None of one without a certificate.
        self.member: MemberKind | None = None if who is None else who.member
        self.user: str = "" if who is None else who.user
        self.limit = inf  # seconds in which `take_all` has to be done
        self._pump = pump
        self._unsent = memoryview(b"")  # encrypted, and not taken by the socket yet
        self._told = 0  # how many plain bytes that is, which `send` has not told of
        self._buffer: bytearray | None = None

    # Sending.

    def send(self, data: bytes | memoryview, /) -> int:
        """Sends the beginning of the data; how much.

        After BlockingIOError the same data has to be given again, as to OpenSSL.
        """
        if not self._told:
            beginning = memoryview(data)[:STEP]
            self._pump.write(beginning)
            self._unsent, self._told = memoryview(self._pump.to_send()), len(beginning)
        while self._unsent:
            self._unsent = self._unsent[self.socket.send(self._unsent) :]
        told, self._told = self._told, 0
        return told

    def sendall(self, data: bytes | memoryview, /) -> None:
        """Sends all of the data on a socket that blocks."""
        view = memoryview(data)
        while view:
            view = view[self.send(view) :]

    def send_end(self) -> None:
        """Sends the end of the stream, unless the other side does not read."""
        self._pump.end()
        with suppress(BlockingIOError):
            self.socket.send(self._pump.to_send())

    # Receiving.

    def recv(self, size: int, /) -> bytes:
        """Returns what one read of at most `size` bytes decrypts to; b"" at the end.

        No decrypted bytes stay buffered here, because a poll of the socket would not show them.
        """
        pieces: list[bytes] = []
        while True:
            while self._pump.holds and (piece := self._pump.read()):
                pieces.append(piece)
            if pieces:
                return b"".join(pieces)
            if self._pump.has_ended or not self._feed(self.socket.recv(size)):
                return b""

    def take(self, most: int) -> bytes:
        """Returns at most this number of decrypted bytes; the others are left for the next call."""
        while True:
            if self._pump.holds and (piece := self._pump.read(most)):
                return piece
            if self._pump.has_ended or not self._feed(self.socket.recv(READ_SIZE)):
                return b""

    def take_all(self, size: int) -> bytes:
        """Exactly this number of bytes, or fewer at the end, from a socket that blocks.

        BlockingIOError if they do not come within the limit, however slowly each of them comes.
        """
        due = time.monotonic() + self.limit
        received = b""
        while len(received) < size and not self._pump.has_ended:
            if self._pump.holds and (piece := self._pump.read(size - len(received))):
                received += piece
                continue
            if time.monotonic() > due:
                raise BlockingIOError(errno.EAGAIN, "it came too slowly")
            if not self._feed(self.socket.recv(READ_SIZE)):
                break
        return received

    def recv_into(self, target: memoryview, /) -> int:
        """Decrypts what one read brings into this memory; returns the number of bytes."""
        if self._buffer is None:
            self._buffer = bytearray(READ_SIZE)
        view = memoryview(self._buffer)
        while True:
            if self._pump.holds and (count := self._pump.read_into(target)):
                return count
            if self._pump.has_ended or not self._feed(view[: self.socket.recv_into(view)]):
                return 0

    @property
    def has_rest(self) -> bool:
        """Whether something has come from the socket that was not received yet."""
        return self._pump.holds

    def _feed(self, data: bytes | memoryview) -> bool:
        if data:
            self._pump.feed(data)
        return bool(data)

    # As of any socket.

    def fileno(self) -> int:
        return self.socket.fileno()

    def getpeername(self) -> Any:
        return self.socket.getpeername()

    def getsockname(self) -> Any:
        return self.socket.getsockname()

    def setblocking(self, blocking: bool, /) -> None:
        self.socket.setblocking(blocking)

    def settimeout(self, seconds: float | None, /) -> None:
        self.socket.settimeout(seconds)

    def setsockopt(self, level: int, option: int, value: int | bytes, /) -> None:
        self.socket.setsockopt(level, option, value)

    def shutdown(self, how: int, /) -> None:
        self.socket.shutdown(how)

    def close(self) -> None:
        self.socket.close()
