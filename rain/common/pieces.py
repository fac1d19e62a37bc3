"""Reads the pieces of one part of a shuffle, for the task that merges them.

Pieces are read on demand, some at a time, from the governors that have them. The next pieces are
read while the task works on the current ones. Large pieces on the same machine are mapped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

from outcome import Outcome, capture

from rain.base.address import Source
from rain.base.admission import TLS_FILE, MemberKind
from rain.base.errors import ProtocolError, RefusedError
from rain.base.exchange import ListedObject
from rain.base.executor_protocol import SERVER
from rain.base.ids import ObjectId
from rain.base.leading import Servers
from rain.common.errors import PiecesLostError, RainException
from rain.common.pickles import Part, load
from rain.common.secret_file import secret_from_environment

BYTES_AT_ONCE = 16 * 1024 * 1024
"""About this much of a part is read at once, and twice as much is in memory."""

OBJECTS_AT_ONCE = 256

SOURCES_AT_ONCE = 8
"""Governors that are asked at the same time. If they were asked one after the other, the readers of
all parts would wait for the same one, and the links of the others would have nothing to do."""

T = TypeVar("T")


class Reader(Protocol):
    """Reads pieces."""

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        """The piece of each of these; None where there is none."""
        ...


class Pieces:
    """One part of a shuffle: the pieces of all its inputs, in the order of the inputs.

    It can be iterated, as often as one likes. Each time the pieces are read anew, and only a few of
    them are in memory at a time unless the function keeps them. An input that has no piece for this
    part is left out.
    """

    def __init__(self, members: Sequence[ListedObject], part: int) -> None:
        self._members = members
        self.part = part

    def __iter__(self) -> Iterator[Any]:
        for piece in self.written:
            if piece is not None:
                yield load(piece)

    @property
    def written(self) -> WrittenPieces:
        """The same as bytes."""
        return WrittenPieces(self._members, self.part)

    def __repr__(self) -> str:
        return f"<Pieces of part {self.part}, of {len(self._members)} inputs>"


class WrittenPieces:
    """The bytes of each piece; None for an input that has none. They are read anew each time."""

    def __init__(self, members: Sequence[ListedObject], part: int) -> None:
        self._members = members
        self._part = part

    @property
    def count(self) -> int:
        """How many there are, with those that are None."""
        return len(self._members)

    @property
    def size(self) -> int:
        """About how many bytes they have together."""
        return sum(one.piece for one in self._members)

    def __iter__(self) -> Iterator[Part | None]:
        for pieces in _one_ahead(current_reader(), self._part, windows(self._members)):
            pieces.reverse()
            while pieces:  # each is let go before the next one is loaded
                yield pieces.pop()


def _one_ahead(
    reader: Reader, part: int, some: Iterator[Sequence[ListedObject]]
) -> Iterator[list[Part | None]]:
    """What is read of each of these, in their order: always one before it is asked for."""
    first = next(some, None)
    if first is None:
        return
    pieces = reader.read(part, first)
    for following in some:
        ahead = _Reading(partial(reader.read, part, following))
        yield pieces
        pieces = ahead.result()
    yield pieces


class _Reading(Generic[T]):
    """Reads in a thread. Nobody waits for it when the task wants no more pieces."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._outcome: Outcome[T] | None = None
        self._thread = threading.Thread(target=self._run, name="rain-pieces", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._outcome = capture(self._read)

    def result(self) -> T:
        """What was read, or the error, once that is known."""
        self._thread.join()
        assert self._outcome is not None
        return self._outcome.unwrap()


class PiecesInRounds:
    """One part of a shuffle, of which the pieces of the first inputs were collected before."""

    def __init__(self, collected: Sequence[Iterable[Any]], rest: Pieces) -> None:
        self._collected = collected
        self._rest = rest

    def __iter__(self) -> Iterator[Any]:
        return chain(*self._collected, self._rest)

    def __repr__(self) -> str:
        return f"<Pieces of part {self._rest.part}, in {len(self._collected) + 1} rounds>"


def windows(members: Sequence[ListedObject]) -> Iterator[Sequence[ListedObject]]:
    """Those that are read together: about as much as is read at once, if parts are alike."""
    first = size = 0
    for place, one in enumerate(members):
        if place > first and (size >= BYTES_AT_ONCE or place - first >= OBJECTS_AT_ONCE):
            yield members[first:place]
            first, size = place, 0
        size += one.piece
    if first < len(members):
        yield members[first:]


class StreamedPieces:
    """Reads from governors."""

    def __init__(self) -> None:
        from rain.stream.machine import machine_id  # noqa: PLC0415 # few tasks read parts
        from rain.stream.reading import StreamReader  # noqa: PLC0415 # as above
        from rain.tls.keys import Keys  # noqa: PLC0415 # as above

        identity = None
        named = os.environ.get(TLS_FILE, "")
        if named and named != "none":
            from pathlib import Path  # noqa: PLC0415 # as above

            from rain.tls.identity import Identity  # noqa: PLC0415 # it brings ssl along

            identity = Identity.read(Path(named), MemberKind.CLIENT)
        self._reader = StreamReader(
            Servers.of(os.environ[SERVER]),
            machine=machine_id(),
            keys=Keys(secret_from_environment(os.environ), identity),
        )

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        wanted: dict[str, list[ObjectId]] = {}
        for one in members:
            wanted.setdefault(one.source, []).append(one.object)
        sources = [*wanted.items()]
        lanes = [sources[first::SOURCES_AT_ONCE] for first in range(SOURCES_AT_ONCE)]
        mine, *others = [lane for lane in lanes if lane]
        readings = [_Reading(partial(self._read_each, part, lane)) for lane in others]
        found = self._read_each(part, mine)
        for reading in readings:
            found |= reading.result()
        return [found[one.object] for one in members]

    def _read_each(
        self, part: int, sources: Sequence[tuple[str, list[ObjectId]]]
    ) -> dict[ObjectId, Part | None]:
        """The pieces of these objects, of one source after the other."""
        from rain.stream.part_reading import PartPieces  # noqa: PLC0415 # as above

        found: dict[ObjectId, Part | None] = {}
        for source, objects in sources:
            asked = PartPieces(part, objects)
            self._ask(source, asked)
            found |= asked.pieces
        return found

    def _ask(self, source: str, asked: Any) -> None:
        from rain.base.wire.orders import SERVER as THE_SERVER  # noqa: PLC0415 # as above
        from rain.stream.connections import Transfer  # noqa: PLC0415 # as above
        from rain.stream.errors import NotHereError, UnreachableError  # noqa: PLC0415 # as above

        def through_the_server(connected: Any, _: int, machine: bytes) -> None:
            asked.exchange(connected, Source.read(source).incarnation, machine)

        try:
            try:
                self._reader.exchange(source, asked.exchange, Transfer())
            except (NotHereError, UnreachableError):
                self._reader.exchange(THE_SERVER, through_the_server, Transfer())
        except (NotHereError, UnreachableError, ProtocolError) as error:
            raise PiecesLostError(f"cannot read part {asked.part}: {error}") from None
        except RefusedError as error:
            raise RainException(str(error)) from None


_lock = threading.Lock()
_reader: Reader | None = None
_owner = 0  # the process that has made it; 0 if it was installed


def current_reader() -> Reader:
    """The reader of this process."""
    global _reader, _owner  # one for each process
    with _lock:
        if _reader is None or (_owner and _owner != os.getpid()):
            # A forked child has connections of its own.
            _reader, _owner = StreamedPieces(), os.getpid()
        return _reader


def install(reader: Reader | None) -> Reader | None:
    """Sets the reader of this process, and gives the one before; None for that of executors."""
    global _reader, _owner
    with _lock:
        before, _reader, _owner = _reader, reader, 0
        return before
