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
from rain.stream.holder import Elsewhere, Held, Holder, InFile, InMemory
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
from rain.stream.sockets import BrokenError, Connected

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
    *,
    shares: bool,
) -> None:
    """Answers a request for parts; the reader `shares` the files of this machine.

    What the governor has that the request names is relayed.
    """
    data = sockets.receive(connected, ids_size(request))
    if not data:
        raise BrokenError("the request was cut off")
    ids = decode_ids(data)
    for first in range(0, len(ids), TOGETHER):
        some = ids[first : first + TOGETHER]
        found = holder.find_each(some, request.holder)
        if not first and relay is not None and isinstance(found[0], Elsewhere):
            sources = [one for one in found[0].sources if _is_of(one, request.holder)]
            if not relay.pass_on(connected, request, data, sources):
                sockets.send(connected, StreamAnswer(Say.NOT_HERE, text=spell(some[0])).encode())
            return
        try:
            pieces = _pieces(some, found, int(request.object))
            if isinstance(pieces, StreamAnswer):
                sockets.send(connected, pieces.encode())
                return
            _give(connected, pieces, shares=shares)
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


def _give(connected: Connected, pieces: Sequence[_Piece], *, shares: bool) -> None:
    mapped = [
        shares and isinstance(piece.held, InFile) and piece.length >= MAPPED_FROM
        for piece in pieces
    ]
    lengths = [
        piece.length | (IN_FILE if is_mapped else 0)
        for piece, is_mapped in zip(pieces, mapped, strict=True)
    ]
    small = [StreamAnswer(Say.PIECES, len(pieces)).encode(), encode_lengths(lengths)]
    for piece, is_mapped in zip(pieces, mapped, strict=True):
        if is_mapped:
            continue
        held = piece.held
        if isinstance(held, InMemory):
            small.append(held.data[piece.offset : piece.offset + piece.length])
        elif piece.length < MAPPED_FROM:
            small.append(in_file(held.descriptor)(piece.offset, piece.length))
        else:
            sockets.send(connected, b"".join(small))
            small.clear()
            sockets.send_file(connected, held.descriptor, piece.offset, piece.length)
    for piece, is_mapped in zip(pieces, mapped, strict=True):
        if is_mapped and isinstance(piece.held, InFile):
            size, place = piece.held.place()
            small.append(StreamAnswer(Say.SHARED, size, place.spell()).encode())
    sockets.send(connected, b"".join(small))
