"""Writing to a socket once for each turn of the loop, whatever was said in it.

A `send` costs as much as encoding fifty tasks, so nothing is sent when it is said: what is said in
one turn is collected, joined, and sent at the beginning of the next turn, without waiting for
anything in between. What the socket does not take follows when it can.

`send_now` is for whoever waits for the answer in another thread: it sends at once, unless something
is still to be sent before.
"""

import asyncio
import socket
import threading
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
        self._lock = threading.Lock()  # held around all of what follows
        self._said: list[bytes] = []  # in this turn
        self._unsent = memoryview(b"")  # what the socket did not take
        self._flush_soon: asyncio.Handle | None = None
        self._writing = False  # the loop tells when the socket takes more
        self._stopped = False
        self.length = 0  # bytes that were said and not sent

    def write(self, piece: bytes) -> None:
        with self._lock:
            self._said.append(piece)
            self.length += len(piece)
            if self._flush_soon is None and not self._writing and not self._stopped:
                self._flush_soon = self._loop.call_soon(self._flush)

    def send_now(self, piece: bytes) -> None:
        """Sends from any thread, in order with all that was said before."""
        with self._lock:
            if self._stopped:
                return
            self._said.append(piece)
            self.length += len(piece)
            if len(self._said) > 1 or self._unsent:
                return  # it leaves with what is on its way already
            self._join()
            self._push_once()
            if not self._unsent:
                return
        self._loop.call_soon_threadsafe(self._push_on)

    def flush(self) -> None:
        """Sends now what the socket takes."""
        with self._lock:
            if self._flush_soon is not None:
                self._flush_soon.cancel()
                self._flush_soon = None
            if not self._writing and not self._stopped:
                self._advance()

    def stop(self) -> None:
        """Sends nothing more. Comes before the socket is closed."""
        with self._lock:
            self._stopped = True
            if self._flush_soon is not None:
                self._flush_soon.cancel()
            if self._writing:
                self._loop.remove_writer(self._socket)
            self._said.clear()
            self.length = 0

    def _flush(self) -> None:
        with self._lock:
            self._flush_soon = None
            if not self._writing and not self._stopped:
                self._advance()
        if not self._stopped:
            self._on_progress()

    def _push_on(self) -> None:
        """The rest of what another thread has begun to send."""
        with self._lock:
            if not self._writing and not self._stopped:
                self._advance()

    def _writable(self) -> None:
        with self._lock:
            if self._stopped:
                return
            self._advance()
            if not self._unsent:
                self._writing = False
                self._loop.remove_writer(self._socket)
        if not self._stopped:
            self._on_progress()

    def _advance(self) -> None:
        """Sends what the socket takes, and asks to hear when it takes more."""
        self._push_once()
        if not self._unsent and self._said:
            self._join()
            self._push_once()
        if self._unsent and not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)

    def _join(self) -> None:
        """What was said becomes what is to be sent, when all before it has been sent."""
        said = self._said
        self._unsent = memoryview(said[0] if len(said) == 1 else b"".join(said))
        said.clear()

    def _push_once(self) -> None:
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
