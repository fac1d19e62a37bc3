"""Deletes old events slice by slice, and gives their space back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from math import inf
from typing import Any

from attrs import define

from rain.server.history.forms import SECONDS, timestamp
from rain.server.history.retention import Facts, Going, Keep, Next, next_to_go

SLICE = 5000
"""Events deleted in one transaction; few enough that no reader and no batch waits for long."""

MOST_SLICES = 100
"""Slices per call; the next call continues."""

EVERY = 1.0
"""Seconds between two checks."""

# The newest session stays, because the next one gets the number after it.
_OLDEST_OVER = f"""
SELECT session, {SECONDS} FROM events
WHERE event_type = 'SessionClosed'
AND +session < (SELECT max(session) FROM events) ORDER BY id LIMIT 1
"""
_OLDEST_LOOSE = f"SELECT {SECONDS} FROM events WHERE session IS NULL ORDER BY id LIMIT 1"
_DELETE = "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE {} ORDER BY id LIMIT ?)"
# The end of a session marks it as closed, so it is deleted last.
_OF_SESSION = _DELETE.format("session = ? AND +event_type <> 'SessionClosed'")
_END_OF_SESSION = "DELETE FROM events WHERE session = ? AND +event_type = 'SessionClosed'"
_LOOSE = _DELETE.format("session IS NULL AND +timestamp < ?")
_ANY = _DELETE.format("+event_type <> 'SessionNew'")


@define(eq=False)
class Trimmer:
    """Keeps an event log within its limits."""

    database: sqlite3.Connection
    keep: Keep
    now: Callable[[], float]
    _looked: float = 0.0

    def trim_if_due(self) -> int:
        """Calls `trim` at intervals; returns how many events were deleted."""
        now = self.now()
        if now - self._looked < EVERY:
            return 0
        self._looked = now
        return self.trim()

    def trim(self) -> int:
        """Deletes what is too old or too much; returns how many events."""
        deleted = 0
        for _ in range(MOST_SLICES):
            session, over = self._one(_OLDEST_OVER) or (None, None)
            (loose,) = self._one(_OLDEST_LOOSE) or (None,)
            chosen = next_to_go(self.keep, Facts(self._used(), over, loose), self.now())
            if chosen is None:
                break
            gone = self._delete(chosen, session)
            deleted += gone
            if not gone:
                break  # only what is never deleted is left
        if deleted:
            # As a script, because `execute` would run only its first step.
            self.database.executescript("PRAGMA incremental_vacuum")
        return deleted

    def _delete(self, chosen: Next, session: int | None) -> int:
        execute = self.database.execute
        match chosen.what:
            case Going.SESSION:
                gone = execute(_OF_SESSION, (session, SLICE)).rowcount
                return gone or execute(_END_OF_SESSION, (session,)).rowcount
            case Going.LOOSE:
                return execute(_LOOSE, (_text(chosen.before), SLICE)).rowcount
            case Going.ANY:
                return execute(_ANY, (SLICE,)).rowcount

    def _used(self) -> int:
        sizes = [
            self.database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        ]
        pages, free, size = map(int, sizes)
        return (pages - free) * size

    def _one(self, statement: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.database.execute(statement).fetchone()
        return row


def _text(seconds: float) -> str:
    """A time in the format of the log, which sorts as text."""
    return "end" if seconds == inf else timestamp(seconds)
