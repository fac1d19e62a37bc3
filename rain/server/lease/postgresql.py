"""A lease in PostgreSQL: one row, which is compared and replaced in one statement."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
from attrs import Factory, define

from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError
from rain.server.lease.written import AsRead

CONNECTING = {
    "connect_timeout": 2,
    "tcp_user_timeout": 2000,
    "options": "-c statement_timeout=2000",
}
"""Timeouts with which a dead database server is noticed before a lease lapses; in seconds and
milliseconds.
"""

_TABLE = "CREATE TABLE IF NOT EXISTS rain_leases (name text PRIMARY KEY, record text NOT NULL)"
_READ = "SELECT record FROM rain_leases WHERE name = %s"
_FIRST = "INSERT INTO rain_leases VALUES (%s, %s) ON CONFLICT DO NOTHING"
_NEXT = "UPDATE rain_leases SET record = %s WHERE name = %s AND record = %s"


@define(eq=False)
class PostgresStore:
    """Implements `rain.server.lease.store.LeaseStore`."""

    url: str  # as libpq reads it: what is missing comes from its environment and files
    name: str  # of the cluster
    _text: AsRead = Factory(AsRead)
    _connection: psycopg.Connection[tuple[str]] | None = None

    @property
    def where(self) -> str:
        return f"{self.url}#{self.name}"

    def read(self) -> Record:
        with self._connected() as connection:
            row = connection.execute(_READ, (self.name,)).fetchone()
        return NOBODY if row is None else self._text.read(row[0], self.where)

    def put(self, before: Record, after: Record) -> bool:
        text = self._text.of(after)
        with self._connected() as connection:
            if before == NOBODY:
                done = connection.execute(_FIRST, (self.name, text))
            else:
                done = connection.execute(_NEXT, (text, self.name, self._text.of(before)))
        return done.rowcount == 1

    def has_ended(self, record: Record) -> bool:
        return False

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _connected(self) -> Generator[psycopg.Connection[tuple[str]]]:
        """The connection, which is made again after an error."""
        try:
            if self._connection is None:
                settings: dict[str, Any] = {**CONNECTING}
                self._connection = psycopg.connect(self.url, autocommit=True, **settings)
                self._connection.execute(_TABLE)
            yield self._connection
        except psycopg.Error as error:
            self.close()
            text = " ".join(str(error).split())
            raise LeaseStoreError(f"the database of the lease: {text}") from error
