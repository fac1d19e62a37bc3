"""A cache of the digests of viewed sessions, and the threads that read for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio
from attrs import Factory, define, field, frozen

from rain.server.dashboard.digest import Digest
from rain.server.dashboard.reading import catch_up

MOST_DIGESTS = 4
READERS = 2
"""Threads that read for the dashboard at a time."""

T = TypeVar("T")


@frozen
class _Shelf:
    """A digest, and the lock for its readers."""

    digest: Digest
    lock: trio.Lock = Factory(trio.Lock)


@define(eq=False)
class Library:
    """Keeps the most recently used digests; each continues to read where it stopped."""

    path: Path
    threads: trio.CapacityLimiter = field(factory=lambda: trio.CapacityLimiter(READERS))
    _shelves: dict[int, _Shelf] = Factory(dict)  # the most recently used one is last

    async def ask(self, session: int, view: Callable[[Digest, float], T]) -> T:
        """Returns a view of a session from the present log.

        If the log cannot be read, raises `sqlite3.Error`, and the digest starts again.
        """
        shelf = self._shelves.pop(session, None) or _Shelf(Digest(session))
        self._shelves[session] = shelf
        while len(self._shelves) > MOST_DIGESTS:
            del self._shelves[next(iter(self._shelves))]

        def read() -> T:
            return view(shelf.digest, catch_up(self.path, shelf.digest))

        async with shelf.lock:
            whole = False
            try:
                seen = await self.read(read)
                whole = True
            finally:
                if not whole and self._shelves.get(session) is shelf:
                    del self._shelves[session]
        return seen

    async def read(self, function: Callable[[], T]) -> T:
        """Runs another function that reads the log."""
        return await trio.to_thread.run_sync(function, limiter=self.threads)
