"""The file of the event log: one SQLite table, written in batches.

Many similar rows are inserted by one statement that reads them from a JSON array, which takes half
the time of one statement per row.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import define

from rain.base.errors import StartError
from rain.base.ids import SessionId
from rain.server.core.catching_up import Logged
from rain.server.core.happenings import CloseReason, Happening, SessionClosed
from rain.server.history.retention import Keep
from rain.server.history.rows import Rows, events_lost, rows_of
from rain.server.history.trimming import Trimmer

FILE = "events.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp TEXT NOT NULL,
    event_type VARCHAR NOT NULL,
    session INTEGER,
    event TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_timestamp ON events (timestamp);
CREATE INDEX IF NOT EXISTS events_by_event_type ON events (event_type);
CREATE INDEX IF NOT EXISTS events_by_session ON events (session);
"""
_INSERT = "INSERT INTO events (timestamp, event_type, session, event) VALUES (?, ?, ?, ?)"
_INSERT_MANY = (
    "INSERT INTO events (timestamp, event_type, session, event)"
    " SELECT ?, ?, ?, value FROM json_each(?)"
)
_OPEN_SESSIONS = (
    "SELECT session FROM events WHERE event_type = 'SessionNew'"
    " EXCEPT SELECT session FROM events WHERE event_type = 'SessionClosed' ORDER BY session"
)
_NUMBERS = (
    "SELECT json_extract(one.value, '$.id[1]') FROM events, json_each(event, ?) AS one"
    " WHERE session = ? AND event_type = 'ClientSubmit'"
)
# What users say about tasks may be nested more deeply than SQLite reads it.
_OF_TASKS = (
    "SELECT CASE WHEN json_valid(event) THEN json_extract(event, '$.task[1]') END FROM events"
    " WHERE session = ? AND +event_type IN ({})"
)
_BEGUN = _OF_TASKS.format("'TaskStarted'")
_ENDED = _OF_TASKS.format("'TaskFinished', 'TaskSkipped', 'TaskCancelled'")
_FEW = 4  # the most rows for which an array is not worthwhile


@define(eq=False)
class EventStore:
    """An open event log."""

    _database: sqlite3.Connection

    def last_session(self) -> SessionId:
        """The largest session number in the log; 0 if it is new."""
        ((largest,),) = self._database.execute("SELECT max(session) FROM events")
        return SessionId(largest or 0)

    def open_sessions(self) -> list[SessionId]:
        """The sessions that are not closed, as far as the log knows."""
        return [SessionId(session) for (session,) in self._database.execute(_OPEN_SESSIONS)]

    def knows_of(self, session: SessionId) -> Logged:
        """The tasks and objects that the log has of a session that goes on."""
        return Logged(
            self._numbers(_NUMBERS, "$.tasks", session),
            self._numbers(_NUMBERS, "$.dataobjs", session),
            self._numbers(_BEGUN, session),
            self._numbers(_ENDED, session),
        )

    def _numbers(self, query: str, *given: str | int) -> frozenset[int]:
        return frozenset(number for (number,) in self._database.execute(query, given))

    def close_lost_sessions(
        self, now: float, message: str, alive: Collection[SessionId] = ()
    ) -> int:
        """Closes sessions of a server that has ended, but for those alive; returns how many."""
        lost = [session for session in self.open_sessions() if session not in alive]
        with self._transaction():
            for session in lost:
                self._write(SessionClosed(now, session, CloseReason.SERVER_LOST, message))
        return len(lost)

    def write(self, now: float, happenings: Sequence[Happening], lost: int) -> None:
        """Writes all of it or, raising `sqlite3.Error`, nothing; `lost` events are missing here."""
        with self._transaction():
            if lost:
                self._insert(events_lost(now, lost))
            for happening in happenings:
                self._write(happening)

    def trimmer(self, keep: Keep, now: Callable[[], float]) -> Trimmer:
        """Makes the trimmer that keeps the log within its limits."""
        return Trimmer(self._database, keep, now)

    def _write(self, happening: Happening) -> None:
        for rows in rows_of(happening):
            self._insert(rows)

    def _insert(self, rows: Rows) -> None:
        events = rows.events
        if rows.foreign or len(events) < _FEW:
            self._database.executemany(
                _INSERT, [(rows.time, rows.event_type, rows.session, event) for event in events]
            )
        else:
            array = f"[{','.join(events)}]"
            self._database.execute(_INSERT_MANY, (rows.time, rows.event_type, rows.session, array))

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def close(self) -> None:
        """Closes the file for good."""
        self._database.close()


def open_store(path: Path) -> EventStore:
    """Opens an event log; creates it if there is none."""
    with ExitStack() as opened:
        try:
            database = sqlite3.connect(path, isolation_level=None)
            opened.callback(database.close)
            database.execute("PRAGMA page_size = 8192")
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
            database.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA cache_size = -16384")  # KiB
            database.executescript(_SCHEMA)
            database.execute("SELECT id, timestamp, event_type, session, event FROM events LIMIT 0")
        except sqlite3.Error as error:
            raise StartError(
                f"the event log {path} cannot be used: {error}; move it away, choose another"
                " --logdir, or start with --no-event-log"
            ) from error
        opened.pop_all()
    return EventStore(database)


def open_lock(path: Path) -> int:
    """Opens the lock file of an event log, for `take_lock`.

    It is a separate file, because closing a descriptor of SQLite's file would drop SQLite's locks.
    """
    beside = path.with_suffix(".lock")
    try:
        return os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StartError(
            f"the event log {path} cannot be locked: {beside}: {error.strerror}"
        ) from error


def take_lock(lock: int) -> bool:
    """Takes the lock if it is free; it lasts until the last copy of the descriptor is closed."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
