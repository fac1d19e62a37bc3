"""A connection of a daemon: a socket and the peer that speaks on it, driven by trio tasks.

One task receives. Messages are sent at once, as far as the socket takes them; another task sends
the rest (`outgoing`). `run` lasts as long as the connection and closes the socket.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf

import trio

from rain.base.errors import ProtocolError
from rain.base.silence import BEAT, REPLACED, Silence
from rain.rpc.ended import End, How
from rain.rpc.offered import Offered
from rain.rpc.outgoing import Outgoing, Patience
from rain.rpc.peer import Peer
from rain.stream.sockets import Connected

READ_SIZE = 64 * 1024
"""For a larger buffer the system makes new pages each time, however little has come."""

LINGER = 0.1
"""Seconds that a peer is given, at the most, to read why it is closed."""


class Link:
    """One connection. All of it belongs to the thread of trio."""

    def __init__(self, connected: Connected, bootstrap: Offered | None, longest: int) -> None:
        self.peer = Peer(self._say, bootstrap, longest, self._flush)
        self.ended: End | None = None  # it has, or is about to; only `end` sets this
        self.on_end: Callable[[str], object] | None = None  # told once, in `run`
        self._socket = connected
        self._outgoing = Outgoing(connected)
        self._over = trio.Event()
        self._allowed: float = inf
        self._heard = True  # something, since it was asked for last
        self._aborts = False  # the other side is told why
        self._hung_up = trio.Event()  # the other side says nothing any more

    @property
    def is_open(self) -> bool:
        return self.ended is None

    @property
    def cause(self) -> str:
        """Why it has ended; "" if it has not."""
        return "" if self.ended is None else self.ended.cause

    @property
    def has_faulty_peer(self) -> bool:
        """Whether it has ended because the other side has broken the protocol."""
        return self.ended is not None and self.ended.how is How.INVALID

    @property
    def is_over_for_good(self) -> bool:
        """Whether the other side has said that it leaves, or has broken the protocol."""
        return self.peer.farewell is not None or self.has_faulty_peer

    @property
    def unsent(self) -> int:
        """How many bytes were said and not taken by the socket yet."""
        return self._outgoing.bytes

    def allow(self, longest: int, altogether: float = inf) -> None:
        """From now on the other side may say no longer messages, and no more bytes than these."""
        self.peer.allow(longest)
        self._allowed = altogether

    def bear(self, patience: Patience) -> None:
        """Sets the limits for the other side from now on."""
        self._outgoing.patience = patience

    def end(self, cause: str, how: How = How.CLOSED, silence: float = 0.0) -> None:
        """Ends the connection; the end that was given first stays."""
        if self.ended is None:
            self.ended = End(how, cause, silence)
            self.peer.stop_hearing()
            self._over.set()

    def end_with_reason(self, cause: str, how: How = How.CLOSED, silence: float = 0.0) -> None:
        """Like `end`, but what was said may still arrive, and the reason behind it."""
        if self.ended is None:
            self.peer.abort(cause)
            self._aborts = True
            self.end(cause, how, silence)

    async def run(self) -> None:
        """Drives the connection until its end, and closes the socket."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._hear)
                nursery.start_soon(self._send)
                await self._over.wait()
                self.peer.end(self.cause)
                if self.on_end is not None:
                    self.on_end(self.cause)
                if self._aborts:
                    await self._linger()
                nursery.cancel_scope.cancel()
        finally:
            self.end("the program ends")
            self.peer.end(self.cause)
            self.peer.take_apart()
            self.on_end = None
            self._outgoing.drop()
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    async def until_ended(self) -> None:
        """Returns when the connection has ended, or is about to."""
        await self._over.wait()

    async def expect(
        self,
        limit: float | None,
        beat: float = BEAT,
        is_replaced: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Runs until the end of the link: closes it when the other side is silent for longer than
        the limit, or is silent and was replaced.
        """
        silence = Silence(limit, beat)
        while self.ended is None:
            since = trio.current_time()
            with trio.move_on_after(beat):
                await self._over.wait()
                return
            if silence.is_too_long(trio.current_time() - since, heard=self._take_heard()):
                text = f"nothing was received from the other side for {silence.seconds:.0f} seconds"
                self.end_with_reason(text, How.SILENT, silence.seconds)
            elif is_replaced is not None and silence.is_suspicious and await is_replaced():
                self.end(REPLACED, How.LOST)

    def _take_heard(self) -> bool:
        """Whether anything was received since the last time. While nothing is read, it counts as
        received.
        """
        heard, self._heard = self._heard, False
        return heard or self._outgoing.is_too_much

    def _say(self, message: bytes) -> None:
        if self.ended is None:
            self._outgoing.add(message)

    def _flush(self) -> None:
        if self.ended is None:
            why_over = self._outgoing.flush()
            if why_over:
                self._outgoing.drop()
                self.end(why_over, How.LOST)

    async def _hear(self) -> None:
        self.end(await self._receive(), How.LOST)
        self._hung_up.set()

    async def _receive(self) -> str:
        """Receives until the other side has hung up; returns how."""
        connected, receive = self._socket, self.peer.receive
        while True:
            await trio.lowlevel.wait_readable(connected)
            try:
                chunk = connected.recv(READ_SIZE)
            except BlockingIOError:
                continue
            except OSError as error:
                return error.strerror or "the connection broke"
            if not chunk:
                return self.peer.farewell or "the other side closed the connection"
            if self.ended is not None:  # it lingers
                continue
            self._heard = True
            try:
                self._allowed -= len(chunk)
                if self._allowed < 0:
                    raise ProtocolError("it says too much before it has registered")
                receive(chunk)
            except ProtocolError as error:
                self.end_with_reason(str(error), How.INVALID)
                continue
            if self.peer.farewell is not None:
                return self.peer.farewell
            while self._outgoing.is_too_much:
                await self._outgoing.some_is_taken()

    async def _send(self) -> None:
        self.end(await self._outgoing.send_unsent(), How.LOST)

    async def _linger(self) -> None:
        """Sends what is left, and waits until the other side has read it and hangs up: closing at
        once could reset the connection first.
        """
        with trio.move_on_after(LINGER):
            while self._outgoing.bytes:
                await self._outgoing.some_is_taken()
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
            await self._hung_up.wait()
