"""Reads large objects for a client: from a governor that has them, or through the server.

Everything here runs in the thread of the user who waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path
from typing import TypeVar

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, spell
from rain.base.leading import Servers
from rain.base.wire.answers import Fetched
from rain.base.wire.orders import SERVER
from rain.rpc.client_incoming import IntoFile, IntoMemory
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.machine import machine_id
from rain.stream.ranges import Piece, Range, piece_of
from rain.stream.reading import ResumingTaker, StreamReader
from rain.stream.sockets import STALL_LIMIT, Note
from rain.stream.watching import Direction, TransferWatch, watched
from rain.stream.ways import PATIENCE
from rain.tls.keys import NO_KEYS, Keys

T = TypeVar("T")

FETCH_ATTEMPTS = 3

AT_ONCE = 32
"""Objects that are read side by side."""


class Downloads:
    """Reads what a fetch has found, from the nearest place that gives it."""

    def __init__(
        self, servers: Servers, keys: Keys = NO_KEYS, watch: TransferWatch | None = None
    ) -> None:
        self.reader = StreamReader(servers, machine=machine_id(), keys=keys)
        self._watch = watch

    def read(self, holder: str, object_id: ObjectId, taker: ResumingTaker) -> None:
        """Reads an object, or what the taker does not have of it yet.

        Raises `NotHereError`, `UnreachableError`, or what the taker raises.
        """

        def read_on(source: str) -> None:
            patience = STALL_LIMIT if source == SERVER else PATIENCE  # there is no source behind it
            self.reader.read_on(source, object_id, taker, Transfer(), patience)

        self._from(holder, read_on)

    def _from(self, holder: str, read: Callable[[str], T]) -> T:
        """Reads from a governor, or else through the server."""
        if holder in {"", SERVER}:
            return read(SERVER)
        with suppress(UnreachableError, NotHereError):
            return read(holder)
        return read(SERVER)  # it reaches every governor

    def piece(
        self, fetched: Fetched, wanted: Range, ask_again: Callable[[ObjectId], Fetched]
    ) -> Piece:
        """A range of a finished object, from the place that has it by now.

        `RefusedError` if it has no such file.
        """
        object_id = fetched.report.id
        trouble = ""
        for attempt in range(FETCH_ATTEMPTS):
            if attempt:
                fetched = ask_again(object_id)
            if fetched.data is not None:
                return piece_of(fetched.data, wanted)
            try:
                return self._from(
                    fetched.holder,
                    lambda source: self.reader.read_range(source, object_id, wanted),
                )
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
        raise RefusedError(f"{spell(object_id)} cannot be fetched: {trouble}")

    def complete(
        self, fetched: Fetched, into: Path | None, ask_again: Callable[[ObjectId], Fetched]
    ) -> Fetched:
        """A finished object with its bytes, from a governor that has them now.

        If a transfer breaks off, the received bytes are kept, and the next governor sends the rest.
        """
        if fetched.data is not None and into is None:
            return fetched
        with self._watching(fetched) as note:
            return self._receive(fetched, into, ask_again, note)

    def _receive(
        self,
        fetched: Fetched,
        into: Path | None,
        ask_again: Callable[[ObjectId], Fetched],
        note: Note | None,
    ) -> Fetched:
        with closing(IntoMemory(note) if into is None else IntoFile(into, note)) as incoming:
            return self._receive_into(fetched, incoming, ask_again)

    def _receive_into(
        self,
        fetched: Fetched,
        incoming: IntoMemory | IntoFile,
        ask_again: Callable[[ObjectId], Fetched],
    ) -> Fetched:
        object_id = fetched.report.id
        trouble = ""
        for attempt in range(FETCH_ATTEMPTS):
            if attempt:  # it may have to be made again first
                fetched = ask_again(object_id)
            if fetched.data is not None:
                return Fetched(fetched.report, incoming.put(fetched.data))
            try:
                self.read(fetched.holder, object_id, incoming)
            except (NotHereError, UnreachableError) as error:
                trouble = str(error)
            else:
                return Fetched(fetched.report, incoming.data)
        raise RefusedError(f"{spell(object_id)} cannot be fetched: {trouble}")

    def complete_all(
        self, fetched: Sequence[Fetched], ask_again: Callable[[ObjectId], Fetched]
    ) -> list[Fetched]:
        """Several of these. Those whose bytes did not come along are read side by side: one after
        the other, each would take the time of its way again."""
        large = [one for one in fetched if one.data is None]
        if len(large) < 2:
            return [self.complete(one, None, ask_again) for one in fetched]

        def read_one(one: Fetched, note: Note | None) -> Fetched:
            return self._receive(one, None, ask_again, note)

        with ExitStack() as watching:  # from now on, so that watchers know the sum
            notes = [watching.enter_context(self._watching(one)) for one in large]
            pool = ThreadPoolExecutor(min(len(large), AT_ONCE), "rain-fetch")
            try:
                read = pool.map(read_one, large, notes)
                completed = dict(zip([one.report.id for one in large], read, strict=True))
            finally:
                pool.shutdown(cancel_futures=True)
        return [completed.get(one.report.id, one) for one in fetched]

    def _watching(self, fetched: Fetched) -> AbstractContextManager[Note | None]:
        length = 0 if fetched.data is not None else fetched.report.size
        return watched(self._watch, Direction.RECEIVING, length)

    def close(self) -> None:
        self.reader.close()
