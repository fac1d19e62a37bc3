"""Fetching objects from other governors and from the server.

A source gets a second chance when it breaks in the middle, and none when it says that it does not
have the object: then only the server knows where else it is.
"""

from __future__ import annotations

from collections.abc import Callable
from io import FileIO
from pathlib import Path

import outcome
from structlog.typing import FilteringBoundLogger

from rain.base.ids import spell
from rain.base.kinds import DataType
from rain.governor.messages import Event, Fetch, FetchFailed, ObjectFetched, Stored
from rain.governor.store import MEMORY_LIMIT, Store, StoreError, remove
from rain.rpc.data_reader import DataReader, NotHereError, Reading, UnreachableError

ATTEMPTS = 2


class _Incoming:
    """The pieces of one object: in memory while it is small, else in a file."""

    def __init__(self, store: Store, is_folder: bool, drafts: Path) -> None:
        self._store = store
        self._is_folder = is_folder
        self._drafts = drafts
        self._pieces: list[bytes] = []
        self._number = 0
        self._file: FileIO | None = None

    def take(self, offset: int, piece: bytes, total: int) -> None:
        """The next piece; pieces come in order."""
        if total < MEMORY_LIMIT:
            self._pieces.append(piece)
            return
        if self._file is None:
            self._number = self._store.new_number()
            self._file = FileIO(self._path(), "wb")
        view = memoryview(piece)
        while view:
            view = view[self._file.write(view) :]

    def _path(self) -> Path:
        # An archive is unpacked when it is complete; a blob grows in its final place.
        if self._is_folder:
            return self._drafts / str(self._number)
        return self._store.path(self._number)

    def complete(self) -> bytes | Stored:
        """All of it is here."""
        if self._file is None:
            return b"".join(self._pieces)
        self._file.close()
        if not self._is_folder:
            return self._store.settle(self._number)
        try:
            return self._store.unpack(self._number, self._path())
        finally:
            remove(self._path())

    def abandon(self) -> None:
        """It will not be completed."""
        if self._file is not None:
            self._file.close()
            remove(self._path())


class Fetcher:
    """Carries out `Fetch` and `StopFetch`. How many run at a time is decided by the state."""

    def __init__(
        self,
        reader: DataReader,
        store: Store,
        drafts: Path,
        tell: Callable[[Event], object],
        log: FilteringBoundLogger,
    ) -> None:
        self._reader = reader
        self._store = store
        self._drafts = drafts
        self._tell = tell
        self._log = log
        self._running: dict[int, tuple[Reading, _Incoming]] = {}

    def start(self, fetch: Fetch, attempt: int = 1) -> None:
        """Begins to read."""
        is_folder = fetch.kind.data_type is DataType.DIRECTORY
        incoming = _Incoming(self._store, is_folder, self._drafts)

        def done(result: outcome.Outcome[int]) -> None:
            del self._running[fetch.fetch]
            self._ended(fetch, attempt, incoming, result)

        reading = self._reader.start(fetch.source, fetch.object, incoming.take, done)
        self._running[fetch.fetch] = (reading, incoming)

    def stop(self, fetch: int) -> None:
        """Nobody wants it any more; it may have ended already."""
        running = self._running.pop(fetch, None)
        if running is not None:
            reading, incoming = running
            reading.cancel()
            incoming.abandon()

    def close(self) -> None:
        """The governor ends."""
        for fetch in list(self._running):
            self.stop(fetch)
        self._reader.close()

    def _ended(
        self, fetch: Fetch, attempt: int, incoming: _Incoming, result: outcome.Outcome[int]
    ) -> None:
        try:
            result.unwrap()
            content = incoming.complete()
        except UnreachableError as error:
            incoming.abandon()
            if attempt < ATTEMPTS:
                self.start(fetch, attempt + 1)
            else:
                self._failed(fetch, str(error))
        except (NotHereError, StoreError) as error:
            incoming.abandon()
            self._failed(fetch, str(error))
        except OSError as error:
            incoming.abandon()
            self._failed(fetch, f"it cannot be stored: {error.strerror}")
        else:
            self._tell(ObjectFetched(fetch.fetch, content))

    def _failed(self, fetch: Fetch, reason: str) -> None:
        self._log.warning(
            "object not fetched", object=spell(fetch.object), source=fetch.source, reason=reason
        )
        self._tell(FetchFailed(fetch.fetch, reason))
