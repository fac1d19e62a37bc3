"""The asyncio loop under Cap'n Proto, with streams that cost fewer system calls.

pycapnp gives a stream three writes for a message where one would do, and asyncio sends each of
them at once; pycapnp stops reading after each message, and asyncio then tells the system to stop
watching the socket, and to watch it again for the next one. `Stream` writes once for each turn and
stops watching only when something arrives that nobody wants yet. Measured here, a round trip costs
a seventh less, many at once a quarter less, and either process a quarter less of its time.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from rain.rpc.turn_writer import TurnWriter

PAUSE_ABOVE = 1024 * 1024
RESUME_BELOW = 256 * 1024
"""Bytes that wait to be sent: above the one who writes is told to stop, below to go on."""


class Stream(asyncio.Transport):
    """A connected socket for a `BufferedProtocol`, as asyncio's own transport, only quieter."""

    def __init__(self, connected: socket.socket, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__({"socket": connected})
        connected.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._socket = connected
        self._protocol = protocol
        self._writer = TurnWriter(connected, self._written)
        self._closing = False
        self._reading = True
        self._watched = False  # the loop tells when the socket can be read
        self._throttled = False  # the protocol was told not to write
        protocol.connection_made(self)
        if self._reading:
            self._watch()

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        if not self._watched and not self._closing:
            self._watch()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or not data:
            return
        self._writer.write(bytes(data))
        if self._writer.length > PAUSE_ABOVE and not self._throttled:
            self._throttled = True
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self._writer.length

    def can_write_eof(self) -> bool:
        return False  # what was said leaves first, and then the socket is closed

    def close(self) -> None:
        """Closes when all that was said is sent; asyncio promises no less."""
        if not self._closing:
            self._closing = True
            self._unwatch()
            self._writer.flush()
            self._loop.call_soon(self._close_if_sent)

    def abort(self) -> None:
        """Closes at once."""
        self._end(None)

    def _watch(self) -> None:
        self._watched = True
        self._loop.add_reader(self._socket, self._readable)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._socket)

    def _readable(self) -> None:
        if not self._reading:
            self._unwatch()
            return
        try:
            count = self._socket.recv_into(self._protocol.get_buffer(-1))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        if count:
            self._protocol.buffer_updated(count)
        else:
            self._protocol.eof_received()
            self.close()

    def _written(self) -> None:
        if self._closing:
            self._close_if_sent()
        elif self._throttled and self._writer.length < RESUME_BELOW:
            self._throttled = False
            self._protocol.resume_writing()

    def _close_if_sent(self) -> None:
        if not self._writer.length:
            self._end(None)

    def _end(self, error: OSError | None) -> None:
        self._closing = True
        if self._socket.fileno() < 0:
            return
        self._unwatch()
        self._writer.stop()
        self._socket.close()
        self._protocol.connection_lost(error)


class QuietLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, where connections over given sockets use `Stream`."""

    # That part of the method that is used here: `capnp.AsyncIoStream.create_connection` calls it.
    async def create_connection(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self, protocol_factory: Callable[[], Any], *_: object, sock: socket.socket, **__: object
    ) -> tuple[Stream, Any]:
        protocol = protocol_factory()
        return Stream(sock, protocol), protocol
