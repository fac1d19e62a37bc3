"""Reads the event log page by page while the writer writes.

A page is a bounded piece of an answer. Between two pages no transaction is open, so that a very
slow reader costs neither memory nor disk. SQLite joins the rows of a page itself, without the GIL:
fetching single rows would have to wait for the GIL of a busy server each time.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from attrs import define, field, frozen

from rain.server.history.query import Query, Selection, selection

PAGE_BYTES = 256 * 1024
PAGE_ROWS = 1000

# The next rows; all but the last of them fit into the bytes of a page.
_PAGE_END = """
SELECT max(id) FROM (
    SELECT id, sum(size) OVER (ORDER BY id) - size AS before FROM (
        SELECT id, length(event) AS size FROM events
        WHERE id > :last AND id <= :end AND {where} ORDER BY id LIMIT :rows
    )
) WHERE before < :bytes
"""
_PAGE = """
SELECT group_concat(item, ',') FROM (
    SELECT '{{"id":' || id || ',"time":"' || timestamp || '","event":' || event || '}}' AS item
    FROM events WHERE id > :last AND id <= :page_end AND {where} ORDER BY id
)
"""


@frozen
class EventReader:
    """Opens answers from an event log."""

    path: Path

    def pages(self, query: Query) -> Pages:
        """Opens the answer to a query; the caller must close it."""
        return Pages(self.path, selection(query))


@define(eq=False)
class Pages:
    """The pages of one answer, in order; it ends with the newest event at its start.

    `next` blocks on the disk: call it in threads, one at a time.
    """

    _path: Path
    _selection: Selection
    _database: sqlite3.Connection | None = field(init=False, default=None)
    _last: int = field(init=False, default=-(2**63))
    _end: int = field(init=False, default=0)

    def next(self) -> str:
        """The next events, objects with id, time and event joined by commas; "" after the last."""
        database = self._database or self._open()
        where = self._selection.where
        given = {
            **self._selection.parameters,
            "last": self._last,
            "end": self._end,
            "rows": PAGE_ROWS,
            "bytes": PAGE_BYTES,
        }
        ((page_end,),) = database.execute(_PAGE_END.format(where=where), given)
        if page_end is None:
            return ""
        given["page_end"] = page_end
        ((page,),) = database.execute(_PAGE.format(where=where), given)
        self._last = page_end
        return str(page)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _open(self) -> sqlite3.Connection:
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        self._database = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False
        )
        ((newest,),) = self._database.execute("SELECT max(id) FROM events")
        self._end = newest or 0
        return self._database
