"""A connection of a client: a socket and the peer that speaks on it, driven by one thread.

Clients are synchronous and are used from scripts, from several threads and from Jupyter, where the
main thread has a loop of its own. A call is written and sent by the thread that makes it. A thread
of the connection receives: it hands over each answer, sends what the socket did not take at once,
and sends heartbeats.

* Ctrl-C, or a signal handler that makes a call itself, may come between any two steps of the
  thread that sends. So each change of the stream is a single step: one call into C sends a part
  of a piece and notes its length. A signal handler may take the lock that its thread holds; then
  it only queues its messages.
* A TLS pump belongs to one thread, and none of its steps can be undone. So the thread of the
  connection encrypts the messages of all threads.
* A server with a journal comes back after a crash. Then the thread of the connection looks for it
  and goes on over another socket: all calls that have not returned are made again with their old
  numbers, and the server executes none of them twice. The waiting threads notice nothing.
* A forked child has no such thread: it closes the connections of its parent.
* At exit the connections are closed and their threads joined. A thread that still waits for an
  answer then is a daemon thread, and ends with the process.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from attrs import frozen

from rain.base.errors import ConnectionLostError, ProtocolError
from rain.base.silence import BEAT, REPLACED, Silence
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.ended import NOT_HERE, End, How
from rain.rpc.looking import seconds_until_next_look
from rain.rpc.peer import Peer
from rain.stream.errors import UnreachableError
from rain.stream.sockets import Connected
from rain.tls.encrypted import Encrypted

_log = logging.getLogger("rain.client")

READ_SIZE = 256 * 1024

STOP_LIMIT = 5.0
"""Seconds that the program's exit waits for the threads of its connections."""


class _Piece:
    """A piece that is being sent, and how much of it the socket has taken, send by send."""

    __slots__ = ("_content", "_taken")

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._taken: list[int] = []

    @property
    def left(self) -> int:
        return len(self._content) - sum(self._taken)

    def push(self, connected: Connected) -> None:
        """Sends what the socket takes at once."""
        taken = sum(self._taken)
        unsent = memoryview(self._content)[taken:] if taken else self._content
        try:
            # No signal is handled inside: either nothing was sent, or it is noted how much.
            self._taken.extend(map(connected.send, (unsent,)))
        except BlockingIOError:
            return
        except OSError:  # the thread that receives finds the end, and what was said before it
            self._taken.append(len(self._content) - taken)


Redial = Callable[[], "Connected | None"]
"""Tries once to reach a server that is away: a socket on which the client is registered again.

None if there is none yet; `ConnectionLostError` if there will be none.
"""


@frozen
class WayBack:
    """How a server is found again that comes back."""

    redial: Redial
    limit: float  # for how many seconds it is looked for
    where: str  # at which addresses, for people
    is_replaced: Callable[[], bool] | None = None  # asked when the server is silent


class Caller:
    """One connection, for any thread. It ends with `close`, or when the other side ends it."""

    def __init__(self, connected: Connected, silence_limit: float | None = None) -> None:
        self._said: deque[bytes] = deque()
        self.peer = Peer(self._said.append, None, MESSAGE_LIMIT, self._flush)
        self.ended: End | None = None  # it has, or is about to; only `_end` sets this
        self.say_alive: Callable[[], object] | None = None  # once in each beat
        self.way_back: WayBack | None = None  # to a server that comes back
        self._cut = ""  # why the connection was lost, until there is another one
        self._silence_limit = silence_limit
        self._socket = connected
        self._is_encrypted = isinstance(connected, Encrypted)
        self._lock = threading.RLock()  # around sending
        self._busy = False  # a thread sends; only a signal handler of that thread sees True
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

        Until it returns, no thread can send anything.
        """
        return self._busy and self._sender == threading.get_ident()

    @property
    def is_usable(self) -> bool:
        """It is open, and belongs to this process."""
        return self.ended is None and self._process == os.getpid()

    def close(self, how: How, cause: str) -> None:
        """Ends the connection; the end that was given first stays. Any thread."""
        self._end(End(how, cause))
        self._wake()

    def join(self, limit: float) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(limit)

    def leave_to_parent(self) -> None:
        """In a forked child: lets go of what belongs to the parent, which does not notice."""
        self._end(End(How.FORKED, NOT_HERE))
        for inherited in (self._socket, self._wake_reading, self._wake_writing):
            inherited.close()

    # Sending: in any thread.

    def _flush(self) -> None:
        if self._is_encrypted:  # by the thread of the connection alone
            self._wake()
            return
        left = True
        try:
            left = self._send()
        finally:
            if left:
                self._wake()  # the thread goes on when the socket takes more

    def _send(self) -> bool:
        """Sends what the socket takes at once; returns whether anything is left.

        If another thread is sending, only the main thread waits for it. All others leave their
        messages to the sending thread, which may be the main thread with a signal handler that
        waits for them.
        """
        while True:
            if threading.current_thread() is threading.main_thread():
                with self._lock:  # Ctrl-C never leaves it taken
                    if self._busy:
                        return False  # this thread was interrupted while it was sending
                    left = self._send_locked()
            elif self._lock.acquire(blocking=False):
                try:
                    left = self._send_locked()
                finally:
                    self._lock.release()
            else:
                return False
            if left or not self._said:  # else a message was added while this thread had the lock
                return left

    def _send_locked(self) -> bool:
        self._sender = threading.get_ident()
        self._busy = True
        try:
            return self._send_all()
        finally:
            self._busy = False

    def _send_all(self) -> bool:
        if self._cut:
            return True  # until there is another connection
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

    def _end(self, end: End) -> End:
        """Returns how it has ended, which may have been before this."""
        if self.ended is None:
            self.ended = end
        return self.ended

    def _has_ended(self) -> bool:  # in whatever thread
        return self.ended is not None

    # The thread of the connection.

    def _live(self) -> None:
        try:
            while True:
                self._drive()
                back = self.way_back
                if self._has_ended() or back is None or not self._come_back(back):
                    break
        finally:
            end = self._end(End(How.BROKEN, "the connection failed"))
            if not self._cut:
                self._say_farewell()
            if end.how is not How.EXITED:  # then no thread is told
                self.peer.end(end.cause)
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            for used in (self._socket, self._wake_reading, self._wake_writing):
                used.close()
            _open.discard(self)

    def _say_farewell(self) -> None:
        """Tells the server that this client leaves. A restarted server waits for clients that have
        not said so.
        """
        if self.way_back is not None:
            self.peer.abort("the client has left")
            self._send()

    def _drive(self) -> None:
        """Until the connection is lost, or is to end."""
        silence = Silence(self._silence_limit)
        poll = select.poll()
        poll.register(self._wake_reading, select.POLLIN)
        poll.register(self._socket, select.POLLIN)
        since, heard, is_full = time.monotonic(), True, False
        while not (self._has_ended() or self._cut):
            found = dict(poll.poll(1000 * max(since + BEAT - time.monotonic(), 0.0)))
            if self._wake_reading.fileno() in found:
                self._wake_reading.recv(4096)
            if self._has_ended():
                return
            if found.get(self._socket.fileno(), 0) & ~select.POLLOUT:
                heard = True
                self._receive()
            left = self._send() if self._said or self._piece is not None else False
            if left is not is_full:
                is_full = left
                poll.modify(self._socket, select.POLLIN | (select.POLLOUT if left else 0))
            now = time.monotonic()
            if now - since >= BEAT:
                if self.say_alive is not None:
                    self.say_alive()
                if silence.is_too_long(now - since, heard=heard):
                    self._lose(End(How.SILENT, "the other side is silent", silence.seconds))
                elif silence.is_suspicious and self._is_replaced():
                    self._lose(End(How.LOST, REPLACED))
                since, heard = now, False

    def _receive(self) -> None:
        try:
            chunk = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(End(How.LOST, error.strerror or "the connection broke"))
            return
        if not chunk:
            self._lose(End(How.LOST, "the other side closed the connection"))
            return
        try:
            self.peer.receive(chunk)
        except ProtocolError as error:
            self._end(End(How.INVALID, str(error)))
        if self.peer.farewell is not None:
            self._end(End(How.FAREWELL, self.peer.farewell))

    # Going on over another connection.

    def _is_replaced(self) -> bool:
        back = self.way_back
        return back is not None and back.is_replaced is not None and back.is_replaced()

    def _lose(self, end: End) -> None:
        """The connection is lost: there may be another one, if the server comes back."""
        if self.way_back is None or not self.way_back.limit:
            self._end(end)
        else:
            self._cut = end.cause

    def _come_back(self, back: WayBack) -> bool:
        """Reconnects; returns whether that succeeded. If not, `_cut` has the reason."""
        text = "lost the server at %s (%s), and will try to reach it for up to %g seconds"
        _log.warning(text, back.where, self._cut, back.limit)
        began = time.monotonic()
        while not self._has_ended():
            try:
                connected = back.redial()
            except ConnectionLostError as error:
                self._end(End(How.NOT_BACK, str(error)))
                return False
            if connected is not None and self._has_sent_ahead(connected):
                self._go_on(connected)
                _log.warning("the server at %s is back", back.where)
                return True
            away = time.monotonic() - began
            pause = seconds_until_next_look(away)
            if away + pause > back.limit:
                why = f"it has not come back within {back.limit:g} seconds"
                lost = f"the connection to the server was lost ({self._cut})"
                self._end(End(How.NOT_BACK, f"{lost}, and {why}"))
                return False
            self._pause(pause)
        return False

    def _has_sent_ahead(self, connected: Connected) -> bool:
        """Sends what goes ahead of the calls that are open, over connections of its own."""
        try:
            self.peer.questions.send_ahead()
        except UnreachableError:  # it has gone again
            connected.close()
            return False
        return True

    def _pause(self, seconds: float) -> None:
        """Waits before the next try, unless the connection is to end."""
        due = time.monotonic() + seconds
        while not self._has_ended() and (left := due - time.monotonic()) > 0:
            if select.select([self._wake_reading], [], [], left)[0]:
                self._wake_reading.recv(4096)

    def _go_on(self, connected: Connected) -> None:
        """Makes all open calls again, in their order, and then what was made meanwhile."""
        with self._lock:
            self._socket.close()
            self._socket, self._piece = connected, None
            self.peer.begin_anew(self._said)
            self._cut = ""
        self._wake()  # to send all this


_open: weakref.WeakSet[Caller] = weakref.WeakSet()


def _stop_at_exit() -> None:
    open_now = list(_open)
    for caller in open_now:
        caller.close(How.EXITED, "the program ends")
    for caller in open_now:
        caller.join(STOP_LIMIT)


def _leave_in_child() -> None:
    for caller in list(_open):
        caller.leave_to_parent()
    _open.clear()


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_leave_in_child)
