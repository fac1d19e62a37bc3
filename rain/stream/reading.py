"""Reads objects from their holders, and uploads constants to the server.

Each call is one transfer in the calling thread, over a connection that is kept for the next one
(`connections`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from attrs import evolve

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId, spell
from rain.base.leading import Servers
from rain.base.wire.orders import SERVER
from rain.stream import sockets
from rain.stream.blocks import SendingBlocks, body_of
from rain.stream.bodies import Body, OfFile, OfMemory
from rain.stream.connections import CONNECT_TIMEOUT, HolderConnections, Transfer
from rain.stream.errors import NotHereError, StoppedError, UnreachableError
from rain.stream.host_links import HostLinks
from rain.stream.protocol import (
    ANSWER_SIZE,
    NOBODY,
    Ask,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
)
from rain.stream.ranges import Piece, Range, receive_piece
from rain.stream.sockets import BrokenError, Connected, Incoming, Note
from rain.stream.staged import Staged
from rain.stream.stamps import Stamp
from rain.tls.keys import NO_KEYS, Keys

if TYPE_CHECKING:
    from rain.stream.calling_back import CallsBack


class Taker(Protocol):
    """The destination of an object. Its exceptions end the transfer and reach the caller."""

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        """Takes the object from a place on this machine; False if that does not work."""
        ...

    def take(self, connected: Incoming, length: int) -> None:
        """Takes exactly `length` bytes from the socket."""
        ...


class ResumingTaker(Taker, Protocol):
    """One that goes on with the bytes of another holder."""

    @property
    def has(self) -> tuple[int, Stamp] | None:
        """How many bytes have come of which file; None if nobody can go on from there."""
        ...

    def begin(self, stamp: Stamp | None) -> None:
        """The next bytes are from the beginning of this file."""
        ...

    def take_rest(self, connected: Incoming) -> None:
        """Takes what was missing from the socket."""
        ...


class StreamReader:
    """Reads from any address; `SERVER` means the server's address. Thread-safe."""

    def __init__(
        self,
        servers: Servers | None = None,
        *,
        machine: bytes = NOBODY,
        connect_timeout: float = CONNECT_TIMEOUT,
        stall_limit: float = sockets.STALL_LIMIT,
        keys: Keys = NO_KEYS,
        calls_back: CallsBack | None = None,
    ) -> None:
        self.connections = HolderConnections(
            servers, connect_timeout, stall_limit, keys, calls_back
        )
        self._machine = machine  # a holder on the same machine may answer with a path
        self.uploads = HostLinks()  # over which this program sends to the server
        self._counting = threading.Lock()
        self.received = 0  # bytes of objects received through sockets

    def read(
        self, source: str, object_id: ObjectId, taker: Taker, transfer: Transfer | None = None
    ) -> None:
        """Reads an object into the taker.

        Raises `NotHereError`, `UnreachableError`, `StoppedError`, or an error of the taker.
        """
        transfer = transfer or Transfer()

        def exchange(connected: Connected, holder: int) -> None:
            self._read(connected, holder, object_id, taker)

        self._make(source, exchange, transfer)

    def read_range(self, source: str, object_id: ObjectId, wanted: Range) -> Piece:
        """Reads some bytes of an object, and nothing else of it.

        Raises `NotHereError`, `UnreachableError`, or `RefusedError` if it has no such file.
        """
        pieces: list[Piece] = []

        def exchange(connected: Connected, holder: int) -> None:
            request = StreamRequest(Ask.RANGE, object_id, holder, blocks=True)
            answer = self._ask(connected, request, wanted)
            _expect(answer, Say.BYTES)
            if answer.length > wanted.stop - wanted.start:
                raise ProtocolError(f"a stream gives {answer.length} bytes for a shorter range")
            pieces.append(receive_piece(connected, answer))
            with self._counting:
                self.received += answer.length

        self._make(source, exchange, Transfer())
        return pieces[0]

    def exchange(
        self, source: str, what: Callable[[Connected, int, bytes], None], transfer: Transfer
    ) -> None:
        """Lets something be asked over a connection to a source; it is told the machine, too.

        Raises `NotHereError`, `UnreachableError`, `StoppedError`, or what is raised there.
        """
        self._make(
            source, lambda connected, holder: what(connected, holder, self._machine), transfer
        )

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

        self._make(source, exchange, transfer)

    def _read_rest(
        self, connected: Connected, holder: int, object_id: ObjectId, taker: ResumingTaker
    ) -> bool:
        """Whether the holder has what the taker has a part of; then the rest has come."""
        if taker.has is None:
            return False
        received, stamp = taker.has
        request = StreamRequest(
            Ask.READ_ON, object_id, holder, received, stamp.encode(), blocks=True
        )
        answer = self._ask(connected, request)
        if answer.say is Say.CHANGED:
            return False
        _expect(answer, Say.BYTES)
        if received + answer.length != stamp.length:
            raise ProtocolError("a stream sends another number of bytes than are missing")
        taker.take_rest(body_of(connected, answer))
        with self._counting:
            self.received += answer.length
        return True

    def relay(self, source: str, passes: Callable[[Connected, int], None], *, back: bool) -> None:
        """Lets the answer to another reader's request pass while it arrives (`relaying.py`).

        `back` says that the governor is asked to call back.
        """
        self._make(source, passes, Transfer(), back=back)

    def close(self) -> None:
        """Closes unused connections; no connection is kept from now on."""
        self.connections.close()

    def upload(
        self, key: bytes, object_id: ObjectId, data: bytes | Staged, note: Note | None = None
    ) -> None:
        """Uploads a constant to the server; `RefusedError` if it does not accept it."""

        def exchange(connected: Connected, holder: int) -> None:
            request = StreamRequest(Ask.WRITE, object_id, holder, len(data), key)
            if self._give(connected, request, data):
                return
            link = self.uploads.for_body(connected, len(data), blocks=True)
            answer = self._ask(connected, evolve(request, blocks=link is not None))
            _expect(answer, Say.READY)
            body: Body = OfMemory(data) if isinstance(data, bytes) else _of_staged(data)
            if link is not None and answer.blocks:
                SendingBlocks(connected, link).send(body, note)
            else:
                body.send(connected, 0, len(data), note)
            _expect(receive_answer(connected), Say.DONE)

        try:
            self.connections.use(SERVER, exchange, Transfer())
        except BrokenError as error:
            raise UnreachableError(f"{self.connections.server_address}: {error}") from None

    def _make(
        self,
        source: str,
        exchange: Callable[[Connected, int], None],
        transfer: Transfer,
        *,
        back: bool = False,
    ) -> None:
        """Makes an exchange; one that breaks was stopped, or its source cannot be reached."""
        try:
            self.connections.use(source, exchange, transfer, back=back)
        except BrokenError as error:
            if transfer.stopped:
                raise StoppedError("nobody wants it any more") from None
            raise UnreachableError(f"{source}: {error}") from None

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
        request = StreamRequest(Ask.READ, object_id, holder, key=self._machine, blocks=True)
        answer = self._ask(connected, request)
        if answer.say is Say.SHARED:
            if taker.take_shared(SharedPlace.read(answer.text), answer.length):
                return
            answer = self._ask(connected, evolve(request, key=NOBODY))
        _expect(answer, Say.BYTES)
        if begin is not None:
            begin(Stamp.read(answer.text))
        taker.take(body_of(connected, answer), answer.length)
        with self._counting:
            self.received += answer.length

    def _ask(
        self, connected: Connected, request: StreamRequest, wanted: Range | None = None
    ) -> StreamAnswer:
        return ask(connected, request, b"" if wanted is None else wanted.encode())


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
    text = sockets.receive_rest(connected, text_length)
    return evolve(answer, text=text.decode(errors="surrogateescape"))


def _of_staged(data: Staged) -> Body:
    return OfFile(data.descriptor, 0, len(data))


def _expect(answer: StreamAnswer, say: Say) -> None:
    if answer.say is Say.REFUSED:
        raise RefusedError(answer.text)
    if answer.say is not say:
        raise ProtocolError(f"a stream answers {answer.say.name} instead of {say.name}")
