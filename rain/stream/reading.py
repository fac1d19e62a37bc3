"""Reads objects from their holders, and uploads constants to the server.

Each call is one transfer in the calling thread. Connections are pooled for a while, because the
next object often comes from the same holder.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from attrs import evolve

from rain.base.address import Source, spell_address, split_address
from rain.base.admission import MemberKind, NotAcceptingError, NotAdmittedError, Secret
from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId, spell
from rain.base.leading import Servers
from rain.base.wire.orders import SERVER
from rain.stream import sockets
from rain.stream.admission import dial_tls, introduce
from rain.stream.errors import NotHereError, NoWayError, StoppedError, UnreachableError
from rain.stream.protocol import (
    ANSWER_SIZE,
    HELLO,
    NOBODY,
    Ask,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
)
from rain.stream.ranges import Piece, Range, receive_piece
from rain.stream.sockets import BrokenError, Connected
from rain.stream.staged import Staged
from rain.stream.stamps import Stamp
from rain.stream.ways import Ways
from rain.tls.errors import TlsError

if TYPE_CHECKING:
    from rain.stream.calling_back import CallsBack
    from rain.tls.identity import Identity

CONNECT_TIMEOUT = 10.0
HOLDER_TIMEOUT = 3.0
"""Seconds to connect to the server, and to a governor. The latter are lost when a firewall drops
what is said; then the server is asked instead."""

KEPT = 5.0
"""Seconds that an unused connection is kept: fewer than the other side keeps it."""


class Taker(Protocol):
    """The destination of an object. Its exceptions end the transfer and reach the caller."""

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        """Takes the object from a place on this machine; False if that does not work."""
        ...

    def take(self, connected: Connected, length: int) -> None:
        """Takes exactly `length` bytes from the socket."""
        ...


class ResumingTaker(Taker, Protocol):
    """One that goes on with the bytes of another holder."""

    @property
    def has(self) -> tuple[int, Stamp] | None:
        """How many bytes have come of what; None if that is nothing that one can go on with."""
        ...

    def begin(self, stamp: Stamp | None) -> None:
        """What comes next is from the beginning of this."""
        ...

    def take_rest(self, connected: Connected) -> None:
        """Takes what was missing from the socket."""
        ...


class Transfer:
    """One transfer, which can be stopped from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: Connected | None = None
        self.stopped = False

    def stop(self) -> None:
        """Stops the transfer; its thread raises `StoppedError` soon."""
        with self._lock:
            self.stopped = True
            if self._socket is not None:
                sockets.hang_up(self._socket)

    def use(self, connected: Connected) -> None:
        with self._lock:
            self._socket = connected
            if self.stopped:
                raise StoppedError("nobody wants it any more")

    def release(self) -> None:
        with self._lock:
            self._socket = None


class StreamReader:
    """Reads from any address; `SERVER` means the server's address. Thread-safe."""

    def __init__(
        self,
        servers: Servers | None = None,
        *,
        machine: bytes = NOBODY,
        connect_timeout: float = CONNECT_TIMEOUT,
        stall_limit: float = sockets.STALL_LIMIT,
        secret: Secret | None = None,
        identity: Identity | None = None,
        calls_back: CallsBack | None = None,
    ) -> None:
        self._secret = secret
        self._identity = identity
        self._servers = servers
        self._machine = machine  # a holder on the same machine may answer with a path
        self._connect_timeout = connect_timeout
        self._calls_back = calls_back  # of governors that cannot be connected to
        self._stall_limit = stall_limit
        self._lock = threading.Lock()
        self._kept: dict[str, list[tuple[float, Connected]]] = {}
        self._ways = Ways()
        self._closed = False
        self.received = 0  # bytes received through sockets

    @property
    def _server_address(self) -> str:
        """Of the one that leads now."""
        return "" if self._servers is None else self._servers.where

    def read(
        self, source: str, object_id: ObjectId, taker: Taker, transfer: Transfer | None = None
    ) -> None:
        """Reads an object into the taker.

        Raises `NotHereError`, `UnreachableError`, `StoppedError`, or an error of the taker.
        """
        transfer = transfer or Transfer()

        def exchange(connected: Connected, holder: int) -> None:
            self._read(connected, holder, object_id, taker)

        try:
            self._with_connection(source, exchange, transfer)
        except BrokenError as error:
            if transfer.stopped:
                raise StoppedError("nobody wants it any more") from None
            raise UnreachableError(f"{source}: {error}") from None

    def read_range(self, source: str, object_id: ObjectId, wanted: Range) -> Piece:
        """Reads some bytes of an object, and nothing else of it.

        Raises `NotHereError`, `UnreachableError`, or `RefusedError` if it has no such file.
        """
        pieces: list[Piece] = []

        def exchange(connected: Connected, holder: int) -> None:
            answer = self._ask(connected, StreamRequest(Ask.RANGE, object_id, holder), wanted)
            _expect(answer, Say.BYTES)
            if answer.length > wanted.stop - wanted.start:
                raise ProtocolError(f"a stream gives {answer.length} bytes for a shorter range")
            pieces.append(receive_piece(connected, answer))
            with self._lock:
                self.received += answer.length

        try:
            self._with_connection(source, exchange, Transfer())
        except BrokenError as error:
            raise UnreachableError(f"{source}: {error}") from None
        return pieces[0]

    def exchange(
        self, source: str, what: Callable[[Connected, int, bytes], None], transfer: Transfer
    ) -> None:
        """Lets something be asked over a connection to a source; it is told the machine, too.

        Raises `NotHereError`, `UnreachableError`, `StoppedError`, or what is raised there.
        """
        try:
            self._with_connection(
                source, lambda connected, holder: what(connected, holder, self._machine), transfer
            )
        except BrokenError as error:
            if transfer.stopped:
                raise StoppedError("nobody wants it any more") from None
            raise UnreachableError(f"{source}: {error}") from None

    def read_on(
        self,
        source: str,
        object_id: ObjectId,
        taker: ResumingTaker,
        transfer: Transfer,
        patience: float,
    ) -> None:
        """Reads an object, or the rest of it. Without a byte for so long it breaks.

        Raises what `read` raises.
        """

        def exchange(connected: Connected, holder: int) -> None:
            sockets.limit_waiting(connected, patience)
            if not self._read_rest(connected, holder, object_id, taker):
                self._read(connected, holder, object_id, taker, taker.begin)

        try:
            self._with_connection(source, exchange, transfer)
        except BrokenError as error:
            if transfer.stopped:
                raise StoppedError("nobody wants it any more") from None
            raise UnreachableError(f"{source}: {error}") from None

    def _read_rest(
        self, connected: Connected, holder: int, object_id: ObjectId, taker: ResumingTaker
    ) -> bool:
        """Whether the holder has what the taker has a part of; then the rest has come."""
        if taker.has is None:
            return False
        received, stamp = taker.has
        request = StreamRequest(Ask.READ_ON, object_id, holder, received, stamp.encode())
        answer = self._ask(connected, request)
        if answer.say is Say.CHANGED:
            return False
        _expect(answer, Say.BYTES)
        if received + answer.length != stamp.length:
            raise ProtocolError("a stream sends another number of bytes than are missing")
        taker.take_rest(connected)
        with self._lock:
            self.received += answer.length
        return True

    @property
    def can_be_called_back(self) -> bool:
        return self._calls_back is not None

    def relay(self, source: str, passes: Callable[[Connected, int], None], *, back: bool) -> None:
        """Lets the answer to another reader's request pass while it arrives (`relaying.py`).

        `back` says that the governor is asked to call back.
        """
        try:
            self._with_connection(source, passes, Transfer(), back=back)
        except BrokenError as error:
            raise UnreachableError(f"{source}: {error}") from None

    def closed_ways(self) -> dict[str, str]:
        """The holders that cannot be connected to, and why."""
        with self._lock:
            return self._ways.closed(time.monotonic())

    def connect_to_server(self) -> Connected:
        """A new connection, for a governor that calls back; `UnreachableError`."""
        where = self._server_address
        return self._connect(where, split_address(where), self._connect_timeout)

    def upload(self, key: bytes, object_id: ObjectId, data: bytes | Staged) -> None:
        """Uploads a constant to the server; `RefusedError` if it does not accept it."""

        def exchange(connected: Connected, holder: int) -> None:
            request = StreamRequest(Ask.WRITE, object_id, holder, len(data), key)
            if self._give(connected, request, data):
                return
            _expect(self._ask(connected, request), Say.READY)
            if isinstance(data, Staged):
                sockets.send_file(connected, data.descriptor, 0, len(data))
            else:
                sockets.send(connected, data)
            _expect(receive_answer(connected), Say.DONE)

        try:
            self._with_connection(SERVER, exchange, Transfer())
        except BrokenError as error:
            raise UnreachableError(f"{self._server_address}: {error}") from None

    def close(self) -> None:
        """Closes unused connections; no connection is kept from now on."""
        with self._lock:
            self._closed = True
            kept, self._kept = self._kept, {}
        for connections in kept.values():
            for _, connected in connections:
                connected.close()

    def _give(self, connected: Connected, request: StreamRequest, data: bytes | Staged) -> bool:
        """Gives a file to the server of this machine; False if there is none, or no way to link."""
        if isinstance(data, bytes) or not data.is_linkable:
            return False
        answer = self._ask(connected, evolve(request, ask=Ask.ADOPT))
        _expect(answer, Say.LINK)
        try:
            data.link(answer.text)
        except OSError:  # the server has come back elsewhere, or has removed an earlier link
            return False
        _expect(self._ask(connected, evolve(request, ask=Ask.LINKED)), Say.DONE)
        return True

    def _read(
        self,
        connected: Connected,
        holder: int,
        object_id: ObjectId,
        taker: Taker,
        begin: Callable[[Stamp | None], object] | None = None,
    ) -> None:
        answer = self._ask(connected, StreamRequest(Ask.READ, object_id, holder, key=self._machine))
        if answer.say is Say.SHARED:
            if taker.take_shared(SharedPlace.read(answer.text), answer.length):
                return
            answer = self._ask(connected, StreamRequest(Ask.READ, object_id, holder))
        _expect(answer, Say.BYTES)
        if begin is not None:
            begin(Stamp.read(answer.text))
        taker.take(connected, answer.length)
        with self._lock:
            self.received += answer.length

    def _ask(
        self, connected: Connected, request: StreamRequest, wanted: Range | None = None
    ) -> StreamAnswer:
        return ask(connected, request, b"" if wanted is None else wanted.encode())

    def _with_connection(
        self,
        source: str,
        exchange: Callable[[Connected, int], None],
        transfer: Transfer,
        *,
        back: bool = False,
    ) -> None:
        """Makes one exchange over a connection, which is kept if there was no error."""
        try:
            found = Source.read(source)
            address = self._server_address if source == SERVER else found.address
            where = split_address(address)
        except ProtocolError as error:
            raise UnreachableError(str(error)) from None
        holder = Source(address, found.incarnation).spell()
        place = f"back from {holder}" if back else holder  # in the pool
        connected = self._kept_one(place) or self._new_one(holder, where, found, back=back)
        in_order = False
        try:
            transfer.use(connected)
            exchange(connected, found.incarnation)
            in_order = True
        except ProtocolError as error:
            raise UnreachableError(f"{source}: {error}") from None
        except NotHereError:
            in_order = True
            raise
        finally:
            transfer.release()
            if in_order:
                sockets.limit_waiting(connected, self._stall_limit)
                self._keep(place, connected)
            else:
                connected.close()

    def _new_one(
        self, holder: str, where: tuple[str, int], found: Source, *, back: bool
    ) -> Connected:
        """A new connection to the holder, unless it is known that there is no way to it."""
        if back:
            assert self._calls_back is not None
            return self._calls_back.get(found.incarnation)
        address = spell_address(*where)
        if self._is_server(address):
            return self._connect(address, where, self._connect_timeout)
        with self._lock:
            if not self._ways.may_try(holder, time.monotonic()):
                raise NoWayError(self._ways.why_closed(holder))
        try:
            connected = self._connect(address, where, min(self._connect_timeout, HOLDER_TIMEOUT))
        except NoWayError as error:
            with self._lock:
                self._ways.failed(holder, str(error), time.monotonic())
            raise
        with self._lock:
            self._ways.opened(holder)
        return connected

    def _is_server(self, address: str) -> bool:
        return self._servers is not None and self._servers.includes(address)

    def _connect(self, address: str, where: tuple[str, int], timeout: float) -> Connected:
        try:
            bare = socket.create_connection(where, timeout)
        except TimeoutError:
            raise NoWayError(f"{address}: no answer within {timeout:g} seconds") from None
        except OSError as error:
            raise NoWayError(f"{address}: {error.strerror}") from None
        member = MemberKind.SERVER if self._is_server(address) else MemberKind.GOVERNOR
        try:
            sockets.prepare(bare, self._stall_limit)
            connected = dial_tls(bare, self._identity, member, self._stall_limit)
            introduce(connected, self._secret)
            sockets.send(connected, HELLO)
        except TlsError as error:
            bare.close()
            raise NoWayError(f"{address}: {error.strerror}") from None
        except (OSError, BrokenError, NotAdmittedError, NotAcceptingError, ProtocolError) as error:
            bare.close()
            raise NoWayError(f"{address}: {error}") from None
        return connected

    def _kept_one(self, address: str) -> Connected | None:
        """Takes a usable connection from the pool; closes those that were kept for too long."""
        oldest = time.monotonic() - KEPT
        found: Connected | None = None
        with self._lock:
            for kept in self._kept.values():
                while kept and kept[0][0] < oldest:
                    kept.pop(0)[1].close()
            connections = self._kept.get(address)
            while connections and found is None:
                _, candidate = connections.pop()
                if sockets.is_silent(candidate):
                    found = candidate
                else:
                    candidate.close()
        return found

    def _keep(self, address: str, connected: Connected) -> None:
        with self._lock:
            if self._closed:
                connected.close()
            else:
                self._kept.setdefault(address, []).append((time.monotonic(), connected))


def ask(connected: Connected, request: StreamRequest, behind: bytes = b"") -> StreamAnswer:
    """Sends a request with what belongs behind it; the header of the answer.

    Raises `NotHereError` or `RefusedError` if that is what it says.
    """
    sockets.send(connected, request.encode() + behind)
    answer = receive_answer(connected)
    if answer.say is Say.NOT_HERE:
        raise NotHereError(f"the holder does not have {spell(request.object)}")
    if answer.say is Say.REFUSED:
        raise RefusedError(answer.text)
    return answer


def receive_answer(connected: Connected) -> StreamAnswer:
    """Receives the header of an answer and its text."""
    head = sockets.receive(connected, ANSWER_SIZE)
    if not head:
        raise BrokenError("the other side closed the connection")
    answer, text_length = StreamAnswer.decode(head)
    if not text_length:
        return answer
    text = sockets.receive(connected, text_length)
    return StreamAnswer(answer.say, answer.length, text.decode(errors="surrogateescape"))


def _expect(answer: StreamAnswer, say: Say) -> None:
    if answer.say is Say.REFUSED:
        raise RefusedError(answer.text)
    if answer.say is not say:
        raise ProtocolError(f"a stream answers {answer.say.name} instead of {say.name}")
