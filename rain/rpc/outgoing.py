"""The bytes that wait for the socket of a connection of a daemon, and for how long they wait.

A message is sent at once, as far as the socket takes it. What is left is sent by one task, so that
two never send at a time: while that task has something to do, all others only add to it.
"""

from __future__ import annotations

import trio
from attrs import frozen

from rain.base.sizes import spell_size
from rain.stream.sockets import Connected

UNREAD = 64 * 1024 * 1024
"""Bytes that may wait for a peer before nothing more is read from it."""

MOST_UNREAD = 512 * 1024 * 1024
"""Bytes that are kept for a peer at most."""

UNREAD_SECONDS = 30.0
"""Seconds for which a peer may read nothing while more than `UNREAD` bytes wait for it."""


@frozen
class Patience:
    """The limits for a peer that does not read its messages: how many bytes, and for how long."""

    makes_wait: bool = False
    """Whether to stop reading from the peer while too much waits for it: requests would only make
    more answers.
    """
    unread: int = UNREAD
    most: int = MOST_UNREAD
    seconds: float = UNREAD_SECONDS


UNREGISTERED = Patience(makes_wait=True)


class Outgoing:
    """The messages that wait for a socket. All of it belongs to the thread of trio."""

    def __init__(self, connected: Connected) -> None:
        self.patience = UNREGISTERED
        self.bytes = 0  # that were said and not taken by the socket yet
        self._socket = connected
        self._unsent: list[bytes] = []
        self._sending = memoryview(b"")  # what is left of the piece that the socket takes now
        self._full = trio.Event()  # the socket takes nothing at present: `send_unsent` goes on
        self._room = trio.lowlevel.ParkingLot()  # tasks that wait until the socket has taken some

    @property
    def is_too_much(self) -> bool:
        """Whether the peer has to read before more is read from it."""
        return self.patience.makes_wait and self.bytes > self.patience.unread

    def add(self, message: bytes) -> None:
        """One more message, which leaves with the next `flush`."""
        self._unsent.append(message)
        self.bytes += len(message)

    def flush(self) -> str:
        """Sends what the socket takes at once; why the connection ends, if too much is left."""
        if not self._full.is_set() and self._push():
            self._full.set()
        if self.bytes <= self.patience.most:
            return ""
        return (
            f"{spell_size(self.bytes)} wait for it, and no more than"
            f" {spell_size(self.patience.most)} are kept for one that does not read"
        )

    async def send_unsent(self) -> str:
        """Sends what the socket did not take at once, until the peer takes nothing for too long:
        returns that as why the connection ends.
        """
        while True:
            await self._full.wait()
            while self._full.is_set():
                if not await self._takes_more():
                    return (
                        f"it has read nothing for {self.patience.seconds:g} seconds,"
                        f" and {spell_size(self.bytes)} wait for it"
                    )
                if not self._push():
                    self._full = trio.Event()

    async def some_is_taken(self) -> None:
        """Waits until the socket has taken something."""
        await self._room.park()

    def drop(self) -> None:
        """The connection has ended: what was not sent is not kept."""
        self._unsent.clear()
        self._sending = memoryview(b"")
        self.bytes = 0
        self._room.unpark_all()

    def _push(self) -> bool:
        """Sends what the socket takes at once; whether anything is left."""
        while self._sending or self._unsent:
            if not self._sending:
                self._sending = memoryview(b"".join(self._unsent))
                self._unsent.clear()
            try:
                taken = self._socket.send(self._sending)
            except BlockingIOError:
                return True
            except OSError:  # the task that receives finds the end, and what was said before it
                taken = len(self._sending)
            self._sending = self._sending[taken:]
            self.bytes -= taken
            self._room.unpark_all()
            if self._sending:
                return True
        return False

    async def _takes_more(self) -> bool:
        """Waits for room in the socket; False when the other side has taken nothing for long."""
        while True:
            with trio.move_on_after(self.patience.seconds):
                await trio.lowlevel.wait_writable(self._socket)
                return True
            if self.bytes > self.patience.unread:
                return False
