"""A connection of a client: a socket and the peer that speaks on it, driven by one thread.

Clients are synchronous and are used from scripts, from several threads and from Jupyter, where the
main thread has a loop of its own. A call is written and sent by the thread that makes it. A thread
of the connection receives: it hands over each answer, sends what the socket did not take at once,
and gives signs of life.

* Ctrl-C, or a signal handler that makes a call itself, may come between any two steps of the
  thread that sends. So what it does to the stream are single steps: one call into C sends of a
  piece and notes how much. A signal handler may take the lock of its thread again, and then only
  says what is to be sent.
* A forked child has no such thread: connections of its parent are closed there.
* At exit the connections are closed and their threads joined. A thread that still waits for an
  answer then is a daemon thread, and waits until it ends with the process.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from rain.base.errors import ProtocolError
from rain.base.silence import BEAT, Silence
from rain.rpc.peer import Peer
from rain.rpc.sizes import MESSAGE_LIMIT

READ_SIZE = 256 * 1024

STOP_LIMIT = 5.0
"""Seconds that the program's exit waits for the threads of its connections."""

NOT_HERE = "the connection does not belong to this process, or it ended"


class _Piece:
    """What is being sent, and how much of it the socket took, send by send."""

    __slots__ = ("_content", "_taken")

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._taken: list[int] = []

    @property
    def left(self) -> int:
        return len(self._content) - sum(self._taken)

    def push(self, connected: socket.socket) -> None:
        """Sends what the socket takes at once."""
        taken = sum(self._taken)
        rest = memoryview(self._content)[taken:] if taken else self._content
        try:
            # No signal is handled inside: either nothing was sent, or it is noted how much.
            self._taken.extend(map(connected.send, (rest,)))
        except BlockingIOError:
            return
        except OSError:  # the thread that receives finds the end, and what was said before it
            self._taken.append(len(self._content) - taken)


class Caller:
    """One connection, for any thread. It ends with `close`, or when the other side ends it."""

    def __init__(self, connected: socket.socket, silence_limit: float | None = None) -> None:
        self._said: deque[bytes] = deque()
        self.peer = Peer(self._said.append, None, MESSAGE_LIMIT, flush=self._flush)
        self.cause: str | None = None  # why it ended, or is about to
        self.fault = ""  # what was wrong with what the other side said
        self.silence = 0.0  # seconds of it that were the cause of the end
        self.is_silent = False  # the program ends: nobody is told
        self.say_alive: Callable[[], object] | None = None  # once in each beat
        self._silence_limit = silence_limit
        self._socket = connected
        self._lock = threading.RLock()  # around sending
        self._busy = False  # somebody sends; in the same thread only a signal handler sees that
        self._sender = 0  # the thread that sends, or has sent last
        self._piece: _Piece | None = None
        self._wake_reading, self._wake_writing = socket.socketpair()
        self._wake_writing.setblocking(False)
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._live, name="rain-client", daemon=True)
        _open.add(self)
        self._thread.start()

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was sending.

        Until it returns, nobody can send anything.
        """
        return self._busy and self._sender == threading.get_ident()

    @property
    def is_usable(self) -> bool:
        """It is open, and belongs to this process."""
        return self.cause is None and self._process == os.getpid()

    def close(self, cause: str) -> None:
        """Ends the connection; the cause that was given first stays. Any thread."""
        self._end(cause)
        self._wake()

    def join(self, limit: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(limit)

    def leave_to_parent(self) -> None:
        """In a forked child: lets go of what belongs to the parent, which does not notice."""
        self._end(NOT_HERE)
        for inherited in (self._socket, self._wake_reading, self._wake_writing):
            inherited.close()

    # Sending: in any thread.

    def _flush(self) -> None:
        left = True
        try:
            left = self._send()
        finally:
            if left:
                self._wake()  # the thread goes on when the socket takes more

    def _send(self) -> bool:
        """Sends what the socket takes at once; whether anything is left.

        Only the main thread waits for another one that sends. All others leave what they say to
        that one: it may be the main thread, and a signal handler in it may wait for them.
        """
        while True:
            if threading.current_thread() is threading.main_thread():
                with self._lock:  # Ctrl-C never leaves it taken
                    if self._busy:
                        return False  # this thread was interrupted while it sent, and goes on later
                    left = self._send_locked()
            elif self._lock.acquire(blocking=False):
                try:
                    left = self._send_locked()
                finally:
                    self._lock.release()
            else:
                return False
            if left or not self._said:  # else something was said while this thread had the lock
                return left

    def _send_locked(self) -> bool:
        self._sender = threading.get_ident()
        self._busy = True
        try:
            return self._send_all()
        finally:
            self._busy = False

    def _send_all(self) -> bool:
        while self._piece is not None or self._said:
            if self._piece is None:
                # Kept until the piece is there: nothing is lost between the two.
                self._piece = _Piece(self._said[0])
                self._said.popleft()
            if self._piece.left:
                self._piece.push(self._socket)
            if self._piece.left:
                return True
            self._piece = None
        return False

    def _wake(self) -> None:
        with suppress(OSError):  # it is full, and so the thread wakes anyway; or it was closed
            self._wake_writing.send(b"w")

    def _end(self, cause: str) -> None:
        if self.cause is None:
            self.cause = cause

    def _has_ended(self) -> bool:  # in whatever thread
        return self.cause is not None

    # The thread of the connection.

    def _live(self) -> None:
        try:
            self._drive()
        finally:
            self._end("the connection failed")
            if not self.is_silent:
                self.peer.end(self.cause or "")
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            for used in (self._socket, self._wake_reading, self._wake_writing):
                used.close()
            _open.discard(self)

    def _drive(self) -> None:
        silence = Silence(self._silence_limit)
        poll = select.poll()
        poll.register(self._wake_reading, select.POLLIN)
        poll.register(self._socket, select.POLLIN)
        since, heard, is_full = time.monotonic(), True, False
        while not self._has_ended():
            found = dict(poll.poll(1000 * max(since + BEAT - time.monotonic(), 0.0)))
            if self._wake_reading.fileno() in found:
                self._wake_reading.recv(4096)
            if self._has_ended():
                return
            if found.get(self._socket.fileno(), 0) & ~select.POLLOUT:
                heard = True
                self._receive()
            left = self._send()
            if left is not is_full:
                is_full = left
                poll.modify(self._socket, select.POLLIN | (select.POLLOUT if left else 0))
            now = time.monotonic()
            if now - since >= BEAT:
                if self.say_alive is not None:
                    self.say_alive()
                if silence.is_too_long(now - since, heard=heard):
                    self.silence = silence.seconds
                    self._end("the other side is silent")
                since, heard = now, False

    def _receive(self) -> None:
        try:
            chunk = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error.strerror or "the connection broke")
            return
        if not chunk:
            self._end("the other side closed the connection")
            return
        try:
            self.peer.receive(chunk)
        except ProtocolError as error:
            self.fault = str(error)
            self._end(self.fault)
        if self.peer.farewell is not None:
            self._end(self.peer.farewell)


_open: weakref.WeakSet[Caller] = weakref.WeakSet()


def _stop_at_exit() -> None:
    open_now = list(_open)
    for caller in open_now:
        caller.is_silent = True
        caller.close("the program ends")
    for caller in open_now:
        caller.join(STOP_LIMIT)


def _leave_in_child() -> None:
    for caller in list(_open):
        caller.leave_to_parent()
    _open.clear()


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_leave_in_child)
