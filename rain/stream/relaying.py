"""Relays a reader's request to a holder, and passes the answer on while it arrives.

Between two sockets the bytes go through a pipe in the kernel or, with TLS, through one buffer, so
that a relay needs the same memory for every object, and a slow reader slows its holder down. When
the holder breaks off in the middle of its answer, the reader's connection is closed: what the
reader has is only a part, and another holder's bytes must not follow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from attrs import evolve

from rain.base.address import Source
from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import spell
from rain.stream import sockets
from rain.stream.blocks import pass_on_blocks
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.protocol import (
    IN_FILE,
    NOBODY,
    Ask,
    Say,
    StreamAnswer,
    StreamRequest,
    decode_lengths,
    encode_lengths,
    lengths_size,
)
from rain.stream.reading import StreamReader, ask, receive_answer
from rain.stream.sockets import BrokenError, Connected

log = logging.getLogger(__name__)


class Relay:
    """Relays objects that others have."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader

    def close(self) -> None:
        self._reader.close()

    def pass_on(
        self, target: Connected, request: StreamRequest, behind: bytes, sources: Sequence[str]
    ) -> bool:
        """The answer of the first source that gives one; False if none does.

        First the sources are connected to; those that cannot be are asked to call back.
        """
        for source, back in self._ways(sources):
            passing = _Passing(target, request, behind)
            try:
                self._reader.relay(source, passing.exchange, back=back)
            except (NotHereError, UnreachableError) as error:
                if passing.has_begun:
                    raise BrokenError(f"a relayed answer was cut off: {error}") from None
                log.info("%s is not relayed: %s", spell(request.object), error)
            else:
                return True
        return False

    def _ways(self, sources: Sequence[str]) -> Iterator[tuple[str, bool]]:
        for source in sources:
            yield source, False
        if self._reader.connections.can_be_called_back:
            for source in sources:
                if Source.read(source).incarnation:
                    yield source, True


class _Passing:
    """One try to relay one request."""

    def __init__(self, target: Connected, request: StreamRequest, behind: bytes) -> None:
        self._target = target
        self._request = request
        self._behind = behind
        self.has_begun = False

    def exchange(self, connected: Connected, holder: int) -> None:
        request = evolve(self._request, holder=holder)
        if request.ask is Ask.PARTS:
            self._parts(connected, evolve(request, key=NOBODY))
            return
        if request.ask is not Ask.READ_ON:  # its key is a stamp, and not the reader's machine
            request = evolve(request, key=NOBODY)
        try:
            answer = ask(connected, request, self._behind)
        except RefusedError as error:
            answer = StreamAnswer(Say.REFUSED, text=str(error))
        self._tell(answer)
        pass_on = pass_on_blocks if answer.blocks else sockets.pass_on
        pass_on(connected, self._target, answer.length)

    def _parts(self, connected: Connected, request: StreamRequest) -> None:
        """Some pieces at a time, as the holder gives them."""
        sockets.send(connected, request.encode() + self._behind)
        left = request.length
        while left:
            answer = receive_answer(connected)
            if answer.say is Say.NOT_HERE and not self.has_begun:
                raise NotHereError(f"the holder does not have {answer.text}")
            if answer.say in {Say.NOT_HERE, Say.REFUSED}:
                self._tell(answer)
                return
            if answer.say is not Say.PIECES or not 0 < answer.length <= left:
                raise ProtocolError(f"a stream answers {answer} to a request for parts")
            table = sockets.receive_rest(connected, lengths_size(answer.length))
            lengths = decode_lengths(table)
            if any(length >= IN_FILE for length in lengths):
                raise ProtocolError("a stream names files to a relay")
            self._tell(answer)
            sockets.send(self._target, encode_lengths(lengths))
            pass_on = pass_on_blocks if answer.blocks else sockets.pass_on
            pass_on(connected, self._target, sum(lengths))
            left -= answer.length

    def _tell(self, answer: StreamAnswer) -> None:
        self.has_begun = True
        sockets.send(self._target, answer.encode())
