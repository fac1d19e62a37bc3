"""One connection that speaks Cap'n Proto, from its first byte to its end.

Both sides look the same from here: a stream, the RPC system on it, and an end that has one cause
and is told once. Everything that Cap'n Proto made on a connection is let go at its end, in the
thread of its loop, because its objects must not outlive either.
"""

from __future__ import annotations  # what pycapnp lacks when it is missing, is named elsewhere

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import capnp

from rain.base.address import plain_host, spell_address
from rain.base.admission import NoRoomError, NotAdmittedError, Role, Secret
from rain.base.errors import InvariantError, ProtocolError
from rain.base.silence import BEAT
from rain.rpc.codec.border import (
    NESTING_LIMIT,
    TRAVERSAL_LIMIT,
    UNREADABLE,
    Capability,
    Interface,
    OfferedServer,
    fault_of_sender,
)
from rain.rpc.codec.reasons import check_reasons
from rain.rpc.handshake import introduce
from rain.rpc.heartbeat import Heartbeat
from rain.rpc.interleaved import UNLIMITED, Kind
from rain.rpc.loop import QuietLoop, Stream
from rain.rpc.patience import Patience
from rain.stream.errors import UnreachableError

T = TypeVar("T")

LINGER = 0.1
"""Seconds that a peer is given to read why it is closed."""


KEEPALIVE = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 6,
    "TCP_USER_TIMEOUT": 90_000,  # milliseconds; else what was said is repeated for long
}
"""The kernel notices a host that has vanished after 90 seconds, whether something was said or not.

A side that listens notices it before (`rain.rpc.heartbeat`).
"""


class NotLetInError(UnreachableError):
    """Whoever answers at an address does not let us in, or we do not trust it; the reason."""


class Connection:
    """A stream and its RPC system. Calls of the host loop only."""

    def __init__(
        self, connected: socket.socket, stream: capnp.AsyncIoStream, transport: Stream
    ) -> None:
        self.cause: str | None = None  # why it ended, or is about to
        self.farewell: str | None = None  # why the other side has ended it, if it said so
        self.silence = 0.0  # seconds of it that were the cause of the end
        self._socket = connected
        self._transport = transport
        self._heartbeat: Heartbeat | None = None
        transport.on_fault = self.end_with_reason
        self._hears = False
        self._stream: capnp.AsyncIoStream | None = stream
        self._system: capnp.TwoPartyClient | capnp.TwoPartyServer | None = None
        self._watch: asyncio.Task[None] | None = None
        self._on_end: list[Callable[[str], object]] = []
        self._on_close: list[Callable[[], object]] = []
        self._closed = False
        self._loop = asyncio.get_running_loop()

    def allow(self, longest: int, altogether: int = UNLIMITED) -> None:
        """From now on the other side may say no longer messages, and no more bytes than these."""
        self._transport.allow(longest, altogether)

    def check_reasons(self) -> None:
        """Looks at why the other side's calls have failed, for it is not to be trusted in that."""
        self._transport.inspect(check_reasons)

    def bear(self, patience: Patience) -> None:
        """Looks from now on how much the other side leaves unread."""
        self._transport.bear(patience)

    async def room(self) -> None:
        """Returns when the other side has read most of what it was told."""
        await self._transport.room()

    def serve(self, offered: OfferedServer) -> None:
        """Lets the other side call what is offered. A connection either serves or calls."""
        system = capnp.TwoPartyServer(
            self._open_stream(),
            offered,
            traversal_limit_in_words=TRAVERSAL_LIMIT,
            nesting_limit=NESTING_LIMIT,
        )
        self._run(system)

    def call(self, interface: Interface) -> Capability:
        """What the other side offers, seen as an interface; only its use shows a mistake."""
        system = capnp.TwoPartyClient(
            self._open_stream(),
            traversal_limit_in_words=TRAVERSAL_LIMIT,
            nesting_limit=NESTING_LIMIT,
        )
        self._run(system)
        return system.bootstrap().cast_as(interface)

    def hear(self, read: Callable[[bytes], T], on_message: Callable[[T], object]) -> None:
        """Takes plain messages from now on, so that the other side may be told a farewell, too.

        They are read, which does nothing else, and then acted upon. What goes wrong is judged as in
        `rain.rpc.offer`: whatever reading raises, and any `ProtocolError`, closes this connection;
        anything else is ours.
        """
        self._hears = True

        def heard(kind: Kind, content: bytes) -> None:
            if self.cause is not None:
                return
            if kind is Kind.ALIVE:
                return
            if kind is Kind.FAREWELL:
                self.farewell = content.decode("utf-8", "replace") or "for no reason"
                self.end(self.farewell)
                return
            try:
                try:
                    said = read(content)
                except UNREADABLE as error:
                    raise fault_of_sender("a message", error) from error
                on_message(said)
            except ProtocolError as error:
                self.end_with_reason(str(error))
            except Exception:  # ours: the loop ends the program with it
                self.end("the program failed")
                raise

        self._transport.on_plain = heard

    def beat(self, limit: float | None = None, beat: float = BEAT) -> None:
        """Gives signs of life from now on.

        The other side is given up when it is silent for longer than the limit, if there is one.
        """
        if self.cause is None:
            self._heartbeat = Heartbeat(
                limit,
                lambda: self._transport.say(Kind.ALIVE, b""),
                self._transport.take_heard,
                self._give_up,
                beat,
            )

    def _give_up(self, silence: float) -> None:
        if self.cause is None:
            self.silence = silence
            self.end_with_reason(f"nothing was heard of the other side for {silence:.0f} seconds")

    def say(self, message: bytes) -> None:
        """Sends a plain message with all else that is said in this turn of the loop.

        It may overtake calls that were made before it, but no call overtakes it.
        """
        if self.cause is None:
            self._transport.say(Kind.MESSAGE, message)

    def say_now(self, message: bytes) -> None:
        """Sends a plain message at once, from any thread, if the connection is still open."""
        if self.cause is None:
            self._transport.say_now(message)

    @property
    def unsent(self) -> int:
        """How many bytes were said and not taken by the socket yet."""
        return self._transport.unsent

    def _open_stream(self) -> capnp.AsyncIoStream:
        if self._stream is None or self._system is not None:
            raise InvariantError("a connection is used once, and not after its end")
        return self._stream

    def _run(self, system: capnp.TwoPartyClient | capnp.TwoPartyServer) -> None:
        self._system = system
        self._watch = self._loop.create_task(self._wait_for_the_end(system))

    @property
    def is_open(self) -> bool:
        return self.cause is None

    def tell_end(self, on_end: Callable[[str], object]) -> None:
        """Calls a plain function with the cause of the end, once, and never inside of `end`."""
        self._on_end.append(on_end)
        if self.cause is not None:
            self._loop.call_soon(self._tell)

    def tell_close(self, on_close: Callable[[], object]) -> None:
        """Calls a plain function when the socket is closed: with the end, or soon after it."""
        self._on_close.append(on_close)

    def end(self, cause: str) -> None:
        """Ends the connection; the cause that was given first stays."""
        if self.cause is None:
            self.cause = cause
            self._loop.call_soon(self._close)
            self._loop.call_soon(self._tell)

    def end_with_reason(self, cause: str) -> None:
        """Like `end`, but the answers that are under way, with the reason in them, may arrive."""
        if self.cause is None:
            self.cause = cause
            self._loop.call_later(LINGER, self._part, cause)
            self._loop.call_soon(self._tell)

    def _part(self, cause: str) -> None:
        # Not before: it would overtake the answers, and the call that tells a governor to stop.
        if self._hears and not self._closed:
            self._transport.say(Kind.FAREWELL, cause.encode("utf-8", "replace"))
        self._close()

    def _tell(self) -> None:
        waiting, self._on_end = self._on_end, []
        for on_end in waiting:
            on_end(self.cause or "")

    async def _wait_for_the_end(self, system: capnp.TwoPartyClient | capnp.TwoPartyServer) -> None:
        try:
            await system.on_disconnect()
        except capnp.KjException as error:
            cause = reason_of(error)
        else:
            cause = "the other side closed the connection"
        self.end(cause)
        self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._watch is not None:
                self._watch.cancel()
            if self._heartbeat is not None:
                self._heartbeat.stop()
            if self._system is not None:
                self._system.close()
            if self._stream is not None:
                self._stream.close()
            self._system = self._stream = None  # here and now: they belong to this thread
            # The stream would wait until a peer that reads no more has taken all that was said.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            for on_close in self._on_close:
                on_close()


async def accept(accepted: socket.socket) -> Connection:
    """The connection of a socket that was let in; OSError when it has gone already."""
    return Connection(accepted, *await _stream_of(accepted))


async def dial(
    host: str,
    port: int,
    timeout: float,
    role: Role = Role.CLIENT,
    secret: Secret | None = None,
) -> Connection:
    """Connects to an address and is let in there.

    `UnreachableError` says where and why that did not work, `ProtocolError` that something else
    than one of us listens there.
    """
    where = spell_address(host, port)
    try:
        async with asyncio.timeout(timeout):
            connected = await _connect(host, port)
            await _introduce(connected, role, secret)
            return Connection(connected, *await _stream_of(connected))
    except TimeoutError:
        raise UnreachableError(
            f"{where}: no answer within {timeout:g} seconds; is that the port of a server of Rain?"
        ) from None
    except NotAdmittedError as error:
        raise NotLetInError(f"{error}{_advice(secret)}") from None
    except NoRoomError as error:
        raise UnreachableError(f"{where}: {error}") from None
    except OSError as error:
        raise UnreachableError(f"{where}: {error.strerror}") from None


def _advice(secret: Secret | None) -> str:
    """What to do when the key of the user, which nobody has named, is not the right one."""
    if secret is None or not secret.of_user:
        return ""
    return (
        " (the key of this user was tried: if the server is another user's, ask its owner to start"
        " it with --secret-file and to give you that file; name it with --secret-file,"
        " RAIN_SECRET_FILE or secret_file; say --insecure or insecure=True if it was started so)"
    )


async def _introduce(connected: socket.socket, role: Role, secret: Secret | None) -> None:
    let_in = False
    try:
        await introduce(connected, secret, role)
        let_in = True
    finally:
        if not let_in:
            connected.close()


async def _stream_of(connected: socket.socket) -> tuple[capnp.AsyncIoStream, Stream]:
    """The stream of a connected socket, which it owns from now on, and what is below it."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, QuietLoop):
        raise InvariantError("a connection outside of the loops that rain.rpc runs")
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):  # their names differ from system to system
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        # Nothing else runs between the making of the transport and the look at it.
        stream = await capnp.AsyncIoStream.create_connection(sock=connected)
        if loop.newest is None:
            raise InvariantError("the stream was not made by this loop")
        return stream, loop.newest
    except (OSError, asyncio.CancelledError):
        connected.close()
        raise


async def _connect(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first address of a host that takes it."""
    loop = asyncio.get_running_loop()
    where = spell_address(host, port)
    try:
        found = await _resolve(host, port)
    except OSError as error:
        raise UnreachableError(f"{where}: {error.strerror}") from None
    reasons: list[str] = []
    for family, kind, protocol, _, address in found:
        attempt = socket.socket(family, kind, protocol)
        try:
            attempt.setblocking(False)
            await loop.sock_connect(attempt, address)
        except OSError as error:
            attempt.close()
            reasons.append(os.strerror(error.errno) if error.errno else str(error))
        except asyncio.CancelledError:
            attempt.close()
            raise
        else:
            return attempt
    refused = os.strerror(errno.ECONNREFUSED)
    hint = "; is the server running?" if refused in reasons else ""
    raise UnreachableError(f"{where}: {', '.join(dict.fromkeys(reasons))}{hint}")


async def _resolve(host: str, port: int) -> list[Any]:
    """The addresses of a host; a thread asks for them only if the host is a name."""
    loop = asyncio.get_running_loop()
    stream = socket.SOCK_STREAM
    try:
        return [*socket.getaddrinfo(host, port, type=stream, flags=socket.AI_NUMERICHOST)]
    except socket.gaierror:
        return [*await loop.getaddrinfo(host, port, type=stream)]


def peer_host(connected: socket.socket) -> str:
    """The host at the other end of a socket; OSError when it has gone already."""
    host: str = connected.getpeername()[0]
    return plain_host(host)


def reason_of(error: capnp.KjException) -> str:
    """One line out of what Cap'n Proto says, or out of the traceback of a remote handler."""
    lines = [line.strip() for line in (error.description or "").splitlines() if line.strip()]
    if not lines:
        return "unknown reason"
    if len(lines) == 1:
        return lines[0].removeprefix("remote exception: ")
    # The last line of a traceback: "package.module.ErrorClass: what it says".
    name, colon, message = lines[-1].partition(": ")
    return message if colon and name.replace(".", "").isidentifier() else lines[-1]
