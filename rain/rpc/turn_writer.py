"""Writing to a socket once for each turn of the loop, whatever was said in it.

A `send` costs as much as encoding fifty tasks, so nothing is sent when it is said: what is said in
one turn is collected, joined, and sent behind it (`rain.rpc.sequel`), without waiting for anything
in between. What the socket does not take follows when it can.

`send_now` is for whoever waits for the answer in another thread: it sends at once, unless something
is still to be sent before. That thread may be the one that Ctrl-C interrupts, between any two
steps. So what it does to the stream are single steps: one assignment says the piece, and one call
into C sends of it and notes how much.
"""

import socket
import threading
from collections.abc import Callable

from rain.rpc.sequel import running_loop


class _Outgoing:
    """What is being sent, and how much of it the socket took, send by send."""

    __slots__ = ("_piece", "_taken")

    def __init__(self, piece: bytes, taken: int = 0) -> None:
        self._piece = piece
        self._taken = [taken]

    @property
    def left(self) -> int:
        return len(self._piece) - sum(self._taken)

    def push(self, connected: socket.socket) -> None:
        """Sends what the socket takes at once of what is left, which is something."""
        left = self.left
        taken = len(self._piece) - left
        rest = memoryview(self._piece)[taken:] if taken else self._piece
        try:
            # No signal is handled inside: either nothing was sent, or it is noted how much.
            self._taken.extend(map(connected.send, (rest,)))
        except BlockingIOError:
            return
        except OSError:
            self._taken.append(left)


class TurnWriter:
    """The outgoing half of a socket. Its owner reads from it, and closes it.

    An error while sending is not told here: the other side has gone, what it said last may still
    be unread, and the owner finds the end of the stream after reading that.
    """

    def __init__(
        self, connected: socket.socket, on_progress: Callable[[], object] = lambda: None
    ) -> None:
        self._socket = connected
        self._on_progress = on_progress  # the socket is full, or was full and has taken more
        self._loop = running_loop()
        self._lock = threading.Lock()  # held around all of what follows
        self._said: list[bytes] = []  # and not on its way yet
        self._outgoing: _Outgoing | None = None
        self._flush_asked = False
        self._writing = False  # the loop tells when the socket takes more
        self._stopped = False
        self._behind = 0  # bytes that were said since the socket is full

    @property
    def behind(self) -> int:
        """Bytes that wait because the socket is full: the other side does not read."""
        outgoing = self._outgoing
        return self._behind if outgoing is None else self._behind + outgoing.left

    @property
    def length(self) -> int:
        """Bytes that were said and not sent."""
        outgoing = self._outgoing
        return sum(map(len, self._said)) + (0 if outgoing is None else outgoing.left)

    def write(self, *pieces: bytes) -> None:
        """From the loop: says something in this turn."""
        with self._lock:
            self._said += pieces
            if self._writing:
                self._behind += sum(map(len, pieces))
            if not (self._flush_asked or self._writing or self._stopped):
                self._flush_asked = True
                self._loop.follow(self._flush)

    def send_now(self, piece: bytes) -> None:
        """Sends from any thread, in order with all that was said before."""
        with self._lock:
            if self._stopped:
                return
            if self._said or (self._outgoing is not None and self._outgoing.left):
                self._said.append(piece)  # it leaves with what is on its way already
                return
            self._outgoing = outgoing = _Outgoing(piece)
            try:
                outgoing.push(self._socket)
            finally:
                if not outgoing.left:
                    self._outgoing = None
                else:
                    self._loop.call_soon_threadsafe(self._push_on)

    def flush(self) -> None:
        """Sends now what the socket takes."""
        with self._lock:
            self._flush_asked = False
            if not self._writing and not self._stopped:
                self._advance()

    def stop(self) -> None:
        """Sends nothing more. Comes before the socket is closed."""
        with self._lock:
            self._stopped = True
            if self._writing:
                self._loop.remove_writer(self._socket)
            self._said.clear()
            self._outgoing = None
            self._behind = 0

    def _flush(self) -> None:
        with self._lock:
            if not self._flush_asked:
                return  # it was sent before
            self._flush_asked = False
            if not self._writing and not self._stopped:
                self._advance()
        if self._writing:
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
            if self._outgoing is None:
                self._writing = False
                self._loop.remove_writer(self._socket)
        if not self._stopped:
            self._on_progress()

    def _advance(self) -> None:
        """Sends what the socket takes, and asks to hear when it takes more."""
        outgoing = self._outgoing
        if outgoing is not None:
            if outgoing.left:
                outgoing.push(self._socket)
            if not outgoing.left:
                self._outgoing = None
        said = self._said
        if said and self._outgoing is None:
            piece = said[0] if len(said) == 1 else b"".join(said)
            said.clear()
            self._behind = 0
            try:
                taken = self._socket.send(piece)  # in the loop, which Ctrl-C does not interrupt
            except BlockingIOError:
                taken = 0
            except OSError:
                taken = len(piece)
            if taken < len(piece):
                self._outgoing = _Outgoing(piece, taken)
        if self._outgoing is not None and not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket, self._writable)
