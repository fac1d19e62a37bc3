"""Reads one part of each of several partitioned objects from one holder."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.stream import sockets
from rain.stream.blocks import Unpacking
from rain.stream.errors import NotHereError
from rain.stream.mapping import map_region, open_same
from rain.stream.memory import receive_bytes
from rain.stream.parts import Part, in_file, place_of
from rain.stream.protocol import (
    IN_FILE,
    NOBODY,
    PART_ASKED_AT_ONCE,
    Ask,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
    decode_lengths,
    encode_ids,
    lengths_size,
)
from rain.stream.reading import receive_answer
from rain.stream.sockets import Connected, Incoming

Piece = Part | None
"""None where the object has no piece of that part."""

TOGETHER = 256 * 1024
"""Bytes of small pieces that are received together; a larger piece is received alone."""


class PartPieces:
    """The pieces of one part that were received so far."""

    def __init__(self, part: int, objects: Sequence[ObjectId]) -> None:
        self.part = part
        self.pieces: dict[ObjectId, Piece] = {}
        self.objects = list(dict.fromkeys(objects))

    def exchange(self, connected: Connected, holder: int, machine: bytes) -> None:
        """Receives them all. Files that cannot be opened from here are asked for as bytes."""
        self._ask(connected, holder, self.objects, machine)
        left = [one for one in self.objects if one not in self.pieces]
        if left:
            self._ask(connected, holder, left, NOBODY)

    def _ask(
        self, connected: Connected, holder: int, objects: list[ObjectId], machine: bytes
    ) -> None:
        for first in range(0, len(objects), PART_ASKED_AT_ONCE):
            some = objects[first : first + PART_ASKED_AT_ONCE]
            request = StreamRequest(
                Ask.PARTS, ObjectId(self.part), holder, len(some), machine, blocks=True
            )
            sockets.send(connected, request.encode() + encode_ids(some))
            while some:
                some = some[self._receive(connected, some) :]

    def _receive(self, connected: Connected, objects: list[ObjectId]) -> int:
        """Receives the pieces of the first ones of these; of how many."""
        answer = receive_answer(connected)
        if answer.say is Say.NOT_HERE:
            raise NotHereError(f"the holder does not have {answer.text}")
        if answer.say is Say.REFUSED:
            raise RefusedError(answer.text)
        count = answer.length
        if answer.say is not Say.PIECES or not 0 < count <= len(objects):
            raise ProtocolError(f"a stream answers {answer} to a request for parts")
        lengths = decode_lengths(sockets.receive_rest(connected, lengths_size(count)))
        sent = [(one, size) for one, size in zip(objects, lengths, strict=False) if size < IN_FILE]
        size = sum(size for _, size in sent)
        self._take(Unpacking(connected, size) if answer.blocks else connected, sent)
        for object_id, length in zip(objects, lengths, strict=False):
            if length >= IN_FILE:
                self._map(object_id, receive_answer(connected))
        return count

    def _take(self, connected: Incoming, sent: list[tuple[ObjectId, int]]) -> None:
        run: list[tuple[ObjectId, int]] = []
        size = 0
        for object_id, length in sent:
            if run and size + length > TOGETHER:
                self._take_run(connected, run, size)
                run, size = [], 0
            run.append((object_id, length))
            size += length
        self._take_run(connected, run, size)

    def _take_run(self, connected: Incoming, run: list[tuple[ObjectId, int]], size: int) -> None:
        data = receive_bytes(connected, size)
        if len(run) == 1:
            self.pieces[run[0][0]] = data or None
            return
        view, start = memoryview(data), 0
        for object_id, length in run:
            self.pieces[object_id] = view[start : start + length] if length else None
            start += length

    def _map(self, object_id: ObjectId, answer: StreamAnswer) -> None:
        if answer.say is not Say.SHARED:
            raise ProtocolError(f"a stream answers {answer} instead of the place of a file")
        descriptor = open_same(SharedPlace.read(answer.text))
        if descriptor is None:
            return  # it is asked for again
        try:
            offset, length = place_of(in_file(descriptor), self.part)
            self.pieces[object_id] = map_region(descriptor, offset, length) if length else None
        finally:
            os.close(descriptor)
