"""Reads the event log into digests and lists; blocks on the disk, so it is for threads.

SQLite parses the events and joins the rows of a page itself, without the GIL: fetching single rows
would have to wait for the GIL of a busy server each time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rain.base.errors import RainError
from rain.server.dashboard import progress
from rain.server.dashboard.digest import Digest
from rain.server.history.forms import SECONDS

PAGE_ROWS = 2000
MOST_PAGES = 50
"""Pages that one request reads; the next request continues."""

MOST_SESSIONS = 200
_MESSAGE = 2000  # characters of a failure in lists
_CHUNK = 500  # tasks of a submission that are read together

_PAGE = f"""
SELECT group_concat(item, ',') FROM (
    SELECT json_array(
        id, event_type, {SECONDS},
        json(CASE
            WHEN event_type IN (
                'TaskStarted', 'TaskFinished', 'TaskRunFailed', 'TaskSkipped', 'TaskCancelled'
            ) THEN json_extract(
                event, '$.task[1]', '$.info.start_time', '$.info.duration', '$.info.governor',
                '$.info.error'
            )
            WHEN event_type IN ('SessionNew', 'SessionClosed', 'GovernorRemoved') THEN event
        END)
    ) AS item FROM (
        SELECT * FROM events WHERE session = :session AND id > :last AND id <= :end
        UNION ALL
        SELECT * FROM events WHERE event_type = 'GovernorRemoved' AND id > :last AND id <= :end
        ORDER BY id LIMIT :rows
    )
)
"""
_SUBMISSION = f"""
SELECT {SECONDS}, json_array_length(event, '$.tasks'), json_array_length(event, '$.dataobjs')
FROM events WHERE id = ?
"""
_TASKS = """
SELECT group_concat(json_array(
    json_extract(task.value, '$.id[1]'),
    coalesce(json_extract(task.value, '$.name'), json_extract(task.value, '$.task_type')),
    json(coalesce(json_extract(task.value, '$.inputs'), '[]')),
    json(coalesce(json_extract(task.value, '$.outputs'), '[]'))
), ',')
FROM events, json_each(event, '$.tasks') AS task WHERE events.id = ? GROUP BY task.key / ?
"""
_NEW_SESSIONS = f"""
SELECT session, {SECONDS}, json_extract(event, '$.spec.name'), json_extract(event, '$.client'),
    coalesce(json_extract(event, '$.belongs_to'), '')
FROM events WHERE event_type = 'SessionNew' AND (
    :user IS NULL OR json_extract(event, '$.belongs_to') = :user
    OR session IN (SELECT value FROM json_each(:shown))
) ORDER BY id DESC LIMIT :most
"""
_USER = """
SELECT json_extract(event, '$.belongs_to') FROM events
WHERE session = ? AND +event_type = 'SessionNew' LIMIT 1
"""
_CLOSED_SESSIONS = f"""
SELECT session, {SECONDS}, json_extract(event, '$.reason'),
    substr(json_extract(event, '$.message'), 1, {_MESSAGE})
FROM events WHERE event_type = 'SessionClosed' AND +session >= ?
"""
_TASK_SPEC = """
SELECT task.value FROM events, json_each(event, '$.tasks') AS task
WHERE session = :session AND event_type = 'ClientSubmit'
AND json_extract(task.value, '$.id[1]') = :number LIMIT 1
"""
_TASK_EVENTS = f"""
SELECT event_type, {SECONDS}, coalesce(json_extract(event, '$.info'), event) FROM events
WHERE session = :session
AND +event_type IN (
    'TaskStarted', 'TaskFinished', 'TaskRunFailed', 'TaskSecondRun', 'TaskSkipped', 'TaskCancelled'
)
AND json_extract(event, '$.task[1]') = :number ORDER BY id LIMIT 100
"""
_OBJECTS = """
SELECT sum(json_array_length(event, '$.dataobjs')) FROM events
WHERE session = ? AND event_type = 'ClientSubmit'
"""
_OBJECT_SPECS = """
SELECT object.value FROM events, json_each(event, '$.dataobjs') AS object
WHERE session = :session AND event_type = 'ClientSubmit' LIMIT :most OFFSET :skip
"""


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    """Opens the log read-only."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as database:
        yield database


class UnreadableLogError(RainError):
    """The event log has content that this version does not write."""


def catch_up(path: Path, digest: Digest) -> float:
    """Reads new events of a session, within the limit of a request; returns the fraction read."""
    with opened(path) as database:
        ((newest,),) = database.execute("SELECT max(id) FROM events")
        end = newest or 0
        for _ in range(MOST_PAGES):
            try:
                more = _next_page(database, digest, end)
            # The file may be of another version or edited by hand: this is not our bug.
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise UnreadableLogError(
                    f"the event log {path} is not understood after event {digest.last}: {error!r}"
                ) from error
            if not more:
                digest.last = end
                return 1.0
    return digest.last / end


def _next_page(database: sqlite3.Connection, digest: Digest, end: int) -> bool:
    given = {"session": digest.session, "last": digest.last, "end": end, "rows": PAGE_ROWS}
    ((page,),) = database.execute(_PAGE, given)
    rows: list[list[Any]] = json.loads(f"[{page or ''}]")
    start = 0
    for place, (event_id, event_type, *_) in enumerate(rows):
        if event_type == "ClientSubmit":
            digest.happened(rows[start:place])
            _submission(database, digest, event_id)
            start = place
    digest.happened(rows[start:])
    return len(rows) == PAGE_ROWS


def _submission(database: sqlite3.Connection, digest: Digest, event_id: int) -> None:
    ((time, tasks, objects),) = database.execute(_SUBMISSION, (event_id,))
    digest.submitted(time, tasks, objects)
    for (chunk,) in database.execute(_TASKS, (event_id, _CHUNK)):
        digest.learn(json.loads(f"[{chunk}]"))


def user_of(path: Path, session: int) -> str:
    """The user whose session it is or was; "" for the owner, and for an unknown session."""
    with opened(path) as database:
        found = database.execute(_USER, (session,)).fetchone()
    return (found[0] or "") if found else ""


def sessions(
    path: Path, user: str | None = None, shown: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """The newest sessions, open and closed, newest first.

    With a user only those of this user, and the others that are shown.
    """
    asked = {"user": user, "shown": json.dumps(sorted(shown)), "most": MOST_SESSIONS}
    with opened(path) as database:
        new = database.execute(_NEW_SESSIONS, asked).fetchall()
        oldest = min((row[0] for row in new), default=0)
        closed = {row[0]: row[1:] for row in database.execute(_CLOSED_SESSIONS, (oldest,))}
    made: list[dict[str, Any]] = []
    for session, created, name, client, whose in new:
        ended, reason, message = closed.get(session, (None, "", ""))
        made.append(
            {
                "session": session,
                "name": name or "",
                "client": client,
                "user": whose,
                "created": created,
                "closed": ended,
                "status": progress.status(reason),
                "message": message,
            }
        )
    return made


def task(path: Path, session: int, number: int) -> dict[str, Any] | None:
    """The spec and the events of a task; None if it is not in the log."""
    given = {"session": session, "number": number}
    with opened(path) as database:
        spec = database.execute(_TASK_SPEC, given).fetchone()
        events = database.execute(_TASK_EVENTS, given).fetchall()
    if spec is None:
        return None
    story = [
        {"event": event_type, "time": time, "info": json.loads(info)}
        for event_type, time, info in events
    ]
    return {"spec": json.loads(spec[0]), "story": story}


def object_specs(
    path: Path, session: int, skip: int, most: int
) -> tuple[int, list[dict[str, Any]]]:
    """The number of data objects of a session, and the specs of some in submission order."""
    with opened(path) as database:
        ((total,),) = database.execute(_OBJECTS, (session,))
        given = {"session": session, "skip": skip, "most": most}
        specs = [json.loads(spec) for (spec,) in database.execute(_OBJECT_SPECS, given)]
    return total or 0, specs
