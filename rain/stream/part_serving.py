"""Serves parts: one part of each of several partitioned objects, in one exchange.

Some objects at a time are looked up and answered together: a table of the lengths of their pieces,
and the pieces. A large piece is not sent to a reader on this machine, which gets the place of the
file instead and maps the piece. The first object that is not here or has no such part ends the
answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.base.address import Source
from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, spell
from rain.stream import sockets
from rain.stream.blocks import SendingBlocks
from rain.stream.bodies import Body, Joined, OfFile, OfMemory
from rain.stream.holder import Elsewhere, Held, Holder, InFar, InFile, InMemory
from rain.stream.host_links import HostLinks
from rain.stream.parts import in_file, in_memory, place_of
from rain.stream.protocol import (
    IN_FILE,
    Say,
    StreamAnswer,
    StreamRequest,
    decode_ids,
    encode_lengths,
    ids_size,
)
from rain.stream.relaying import Relay
from rain.stream.sockets import Connected

MAPPED_FROM = 256 * 1024
"""A smaller piece is sent, because to open and map its file would take longer."""

TOGETHER = 64
"""Objects that are looked up and answered together; as many files are open for one reader."""


@frozen
class _Piece:
    held: InMemory | InFile
    offset: int
    length: int


def give_parts(
    connected: Connected,
    request: StreamRequest,
    holder: Holder,
    relay: Relay | None,
    links: HostLinks,
    *,
    shares: bool,
) -> None:
    """Answers a request for parts; the reader `shares` the files of this machine.

    What the governor has that the request names is relayed.
    """
    data = sockets.receive_rest(connected, ids_size(request))
    ids = decode_ids(data)
    giving = _Giving(connected, links if request.blocks else None, shares)
    for first in range(0, len(ids), TOGETHER):
        some = ids[first : first + TOGETHER]
        found = holder.find_each(some, request.holder)
        try:
            if not first and relay is not None and isinstance(found[0], Elsewhere):
                sources = [one for one in found[0].sources if _is_of(one, request.holder)]
                if not relay.pass_on(connected, request, data, sources):
                    answer = StreamAnswer(Say.NOT_HERE, text=spell(some[0]))
                    sockets.send(connected, answer.encode())
                return
            for place, held in enumerate(found):
                if isinstance(held, InFar):  # many small parts of it will be asked for
                    found[place] = held.whole()
            pieces = _pieces(some, found, int(request.object))
            if isinstance(pieces, StreamAnswer):
                sockets.send(connected, pieces.encode())
                return
            giving.give(pieces)
        finally:
            for held in found:
                if isinstance(held, InFile):
                    held.close()


def _is_of(source: str, incarnation: int) -> bool:
    return Source.read(source).incarnation == incarnation


def _pieces(
    ids: Sequence[ObjectId], found: Sequence[Held | None], part: int
) -> list[_Piece] | StreamAnswer:
    """Where each piece is, or the answer that one cannot be had."""
    pieces: list[_Piece] = []
    for object_id, held in zip(ids, found, strict=True):
        try:
            if isinstance(held, InMemory):
                pieces.append(_Piece(held, *place_of(in_memory(held.data), part)))
            elif isinstance(held, InFile):
                pieces.append(_Piece(held, *place_of(in_file(held.descriptor), part)))
            else:
                return StreamAnswer(Say.NOT_HERE, text=spell(object_id))
        except RefusedError as error:
            return StreamAnswer(Say.REFUSED, text=f"{spell(object_id)}: {error}")
    return pieces


class _Giving:
    """Answers with pieces, some at a time."""

    def __init__(self, connected: Connected, links: HostLinks | None, shares: bool) -> None:
        self._connected = connected
        self._links = links  # None if the reader takes no blocks
        self._shares = shares
        self._sending: SendingBlocks | None = None  # which knows how well earlier pieces compress

    def give(self, pieces: Sequence[_Piece]) -> None:
        """What is sent of these is one body, so that small pieces are compressed together."""
        lengths: list[int] = []
        bodies: list[Body] = []
        places: list[bytes] = []
        for piece in pieces:
            held = piece.held
            if isinstance(held, InMemory):
                bodies.append(OfMemory(held.data[piece.offset : piece.offset + piece.length]))
            elif self._shares and piece.length >= MAPPED_FROM:
                size, place = held.place()
                places.append(StreamAnswer(Say.SHARED, size, place.spell()).encode())
                lengths.append(piece.length | IN_FILE)
                continue
            else:
                bodies.append(OfFile(held.descriptor, piece.offset, piece.length))
            lengths.append(piece.length)
        table = encode_lengths(lengths)
        sent = Joined(bodies)
        sending = self._sending_of(sent)
        answer = StreamAnswer(Say.PIECES, len(pieces), blocks=sending is not None)
        if sending is not None:
            sockets.send(self._connected, answer.encode() + table)
            sending.send(sent)
            bodies = []
        else:
            bodies.insert(0, OfMemory(answer.encode() + table))
        bodies += map(OfMemory, places)
        rest = Joined(bodies)
        rest.send(self._connected, 0, rest.length)

    def _sending_of(self, body: Body) -> SendingBlocks | None:
        """Through what the body goes; None if it goes as it is."""
        if self._links is None:
            return None
        link = self._links.for_body(self._connected, body.length, blocks=True)
        if link is None:
            return None
        if self._sending is None:
            self._sending = SendingBlocks(self._connected, link)
        return self._sending
