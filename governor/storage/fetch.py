"""Fetches objects from other governors and from the server, each in its own thread.

The server may name several sources. If one breaks off, or sends nothing for a while, the next one
continues from there. A single source is asked once more if the connection breaks. The last source
is always the server, which relays objects of governors that this one cannot connect to. If that
fails, too, the fetch has failed, and the server may name other sources.
"""

from __future__ import annotations

import outcome
from structlog.typing import FilteringBoundLogger

from rain.base.address import Source
from rain.base.errors import RefusedError
from rain.base.ids import spell
from rain.base.kinds import DataType
from rain.base.wire.orders import SERVER
from rain.governor.core.effects import FetchObject
from rain.governor.core.events import FetchFailed, ObjectFetched, Tell
from rain.governor.core.results import Stored
from rain.governor.storage.arriving import Arriving
from rain.governor.storage.errors import NoRoomError, StoreError
from rain.governor.storage.store import MEMORY_LIMIT, Store, writing_into
from rain.rpc.background import Background, trouble_of
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError, StoppedError, UnreachableError
from rain.stream.memory import receive_bytes
from rain.stream.protocol import SharedPlace
from rain.stream.reading import StreamReader
from rain.stream.sockets import STALL_LIMIT, Incoming
from rain.stream.stamps import Stamp
from rain.stream.ways import PATIENCE, with_relay

ATTEMPTS = 2
"""Of a single source."""


class _Incoming:
    """Receives one object: a small one into memory, a large one into the store."""

    def __init__(self, store: Store, is_folder: bool) -> None:
        self._store = store
        self._is_folder = is_folder
        self._arriving: Arriving | None = None
        self._stamp: Stamp | None = None
        self.content: bytes | Stored = b""

    @property
    def has(self) -> tuple[int, Stamp] | None:
        arriving = self._arriving
        if arriving is None or arriving.stamp is None or not arriving.received:
            return None
        return arriving.received, arriving.stamp

    def begin(self, stamp: Stamp | None) -> None:
        self.give_up()
        self._stamp = stamp

    def give_up(self) -> None:
        """Drops the bytes that have come until now."""
        if self._arriving is not None:
            self._arriving.abandon()
            self._arriving = None

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        self.give_up()
        shared = self._store.link_in(place, length, is_folder=self._is_folder)
        if shared is not None:
            self.content = shared
        return shared is not None

    def take(self, connected: Incoming, length: int) -> None:
        if length < MEMORY_LIMIT:
            self.content = receive_bytes(connected, length)
        elif self._is_folder:
            self.content = self._store.receive_folder(connected, length)
        else:
            with writing_into(self._store):
                self._arriving = Arriving(self._store, length, self._stamp)
            self.take_rest(connected)

    def take_rest(self, connected: Incoming) -> None:
        assert self._arriving is not None
        with writing_into(self._store):
            self._arriving.take_rest(connected)
            self.content = self._arriving.complete()
        self._arriving = None


class Fetcher:
    """Carries out `FetchObject` and `StopFetch`. The state decides how many run at a time."""

    def __init__(
        self,
        reader: StreamReader,
        store: Store,
        background: Background,
        tell: Tell,
        log: FilteringBoundLogger,
    ) -> None:
        self._reader = reader
        self._store = store
        self._background = background
        self._tell = tell
        self._log = log
        self._running: dict[int, Transfer] = {}

    def start(self, fetch: FetchObject) -> None:
        """Starts a fetch."""
        transfer = self._running[fetch.fetch] = Transfer()

        def fetching() -> bytes | Stored:
            return self._fetch(fetch, transfer)

        def done(result: outcome.Outcome[bytes | Stored]) -> None:
            self._running.pop(fetch.fetch, None)
            self._ended(fetch, transfer, result)

        self._background.in_thread(fetching, done)

    def stop(self, fetch: int) -> None:
        """Stops a fetch that is no longer needed; it may have ended already."""
        transfer = self._running.pop(fetch, None)
        if transfer is not None:
            transfer.stop()

    def out_of_reach(self) -> tuple[tuple[str, str], ...]:
        """The addresses of governors that this one cannot connect to, and why."""
        closed = self._reader.connections.closed_ways().items()
        return tuple((Source.read(holder).address, why) for holder, why in closed)

    def close(self) -> None:
        """Stops all fetches at the end of the governor."""
        for fetch in list(self._running):
            self.stop(fetch)
        self._reader.close()

    def _fetch(self, fetch: FetchObject, transfer: Transfer) -> bytes | Stored:
        """Reads the whole object; runs in a thread."""
        incoming = _Incoming(self._store, fetch.kind.data_type is DataType.DIRECTORY)
        try:
            self._receive(fetch, incoming, transfer)
        finally:
            incoming.give_up()
        return incoming.content

    def _receive(self, fetch: FetchObject, incoming: _Incoming, transfer: Transfer) -> None:
        """Tries one source after the other, and then the server, which reaches all of them."""
        sources = fetch.source.split()
        order = with_relay(sources if len(sources) > 1 else sources * ATTEMPTS)
        troubles: list[str] = []  # not the errors: their tracebacks lead here, and so to themselves
        is_missing = False  # the last one that was asked does not have it
        for number, source in enumerate(order, start=1):
            if is_missing and source == order[number - 2]:
                continue  # it would say so again
            is_last = number == len(order)
            patience = STALL_LIMIT if is_last else PATIENCE
            try:
                self._reader.read_on(source, fetch.object, incoming, transfer, patience)
            except (UnreachableError, NotHereError) as error:
                if transfer.stopped:
                    raise StoppedError("nobody wants it any more") from None
                troubles.append(str(error))
                is_missing = isinstance(error, NotHereError)
            else:
                if source == SERVER and troubles:
                    self._log.info(
                        "object came through the server",
                        object=spell(fetch.object),
                        source=fetch.source,
                        reason=troubles[0],
                    )
                return
        *direct, last = dict.fromkeys(troubles)
        raise UnreachableError(
            "; ".join(direct) + f"; and from the server: {last}" if direct else last
        )

    def _ended(
        self, fetch: FetchObject, transfer: Transfer, result: outcome.Outcome[bytes | Stored]
    ) -> None:
        trouble = trouble_of(
            result, StoppedError, UnreachableError, NotHereError, StoreError, RefusedError
        )
        if trouble is None:
            # Reported even if it was stopped meanwhile: the state then throws it away.
            self._tell(ObjectFetched(fetch.fetch, result.unwrap()))
        elif not (transfer.stopped or isinstance(trouble, StoppedError)):
            self._failed(fetch, str(trouble), here=isinstance(trouble, NoRoomError))

    def _failed(self, fetch: FetchObject, reason: str, *, here: bool) -> None:
        self._log.warning(
            "object not fetched", object=spell(fetch.object), source=fetch.source, reason=reason
        )
        self._tell(FetchFailed(fetch.fetch, reason, here))
