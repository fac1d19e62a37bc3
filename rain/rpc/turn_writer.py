"""Writing to a socket once for each turn of the loop, whatever was said in it.

A `send` costs as much as encoding fifty tasks, so nothing is sent when it is said: what is said in
one turn is collected, joined, and sent at the beginning of the next turn, without waiting for
anything in between. What the socket does not take follows when it can.
"""

import asyncio
import socket
from collections.abc import Callable


class TurnWriter:
    """The outgoing half of a socket. Its owner reads from it, and closes it.

    An error while sending is not told here: the other side has gone, what it said last may still
    be unread, and the owner finds the end of the stream after reading that.
    """

    def __init__(
        self, connected: socket.socket, on_progress: Callable[[], object] = lambda: None
    ) -> None:
        self._socket = connected
        self._on_progress = on_progress  # called when the socket has taken something
        self._loop = asyncio.get_running_loop()
        self._said: list[bytes] = []  # in this turn
        self._unsent = memoryview(b"")  # what the socket did not take
        self._flush_soon: asyncio.Handle | None = None
        self._writing = False  # the loop tells when the socket takes more
        self._stopped = False
        self.length = 0  # bytes that were said and not sent

    def write(self, piece: bytes) -> None:
        self._said.append(piece)
        self.length += len(piece)
        if self._flush_soon is None and not self._writing and not self._stopped:
            self._flush_soon = self._loop.call_soon(self._flush)

    def flush(self) -> None:
        """Sends now what the socket takes."""
        if self._flush_soon is not None:
            self._flush_soon.cancel()
            self._flush_soon = None
        if not self._writing and not self._stopped:
            self._join()
            self._push()

    def stop(self) -> None:
        """Sends nothing more. Comes before the socket is closed."""
        self._stopped = True
        if self._flush_soon is not None:
            self._flush_soon.cancel()
        if self._writing:
            self._loop.remove_writer(self._socket)
        self._said.clear()
        self.length = 0

    def _flush(self) -> None:
        self._flush_soon = None
        self._join()
        self._push()
        if not self._stopped:
            self._on_progress()

    def _writable(self) -> None:
        self._push()
        if not self._unsent:
            self._writing = False
            self._loop.remove_writer(self._socket)
            self._join()
            self._push()
        if not self._stopped:
            self._on_progress()

    def _join(self) -> None:
        """What was said becomes what is to be sent, when all before it has been sent."""
        said = self._said
        self._unsent = memoryview(said[0] if len(said) == 1 else b"".join(said))
        said.clear()

    def _push(self) -> None:
        if not self._unsent:
            return
        try:
            taken = self._socket.send(self._unsent)
        except BlockingIOError:
            taken = 0
        except OSError:
            taken = len(self._unsent)
        self._unsent = self._unsent[taken:]
        self.length -= taken
        if self._unsent and not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)
