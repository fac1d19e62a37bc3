"""The newest events that match a query, each cut to a length that can be shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rain.server.dashboard.reading import opened
from rain.server.history.query import Query, selection

MOST_EVENTS = 200
_TEXT = 4000  # letters of an event
_LINE = 300  # letters of what it is about

# A summary of an event. A submission may be very long, so only its counts are read.
_ABOUT = """
CASE event_type WHEN 'ClientSubmit' THEN
    json_array(json_array_length(event, '$.tasks') || ' tasks',
        json_array_length(event, '$.dataobjs') || ' data objects')
ELSE json_array(
    'task ' || json_extract(event, '$.task[0]') || '/' || json_extract(event, '$.task[1]'),
    json_extract(event, '$.governor'), json_extract(event, '$.info.governor'),
    'client ' || json_extract(event, '$.client'), json_extract(event, '$.spec.name'),
    json_extract(event, '$.reason'), json_extract(event, '$.message'),
    json_extract(event, '$.error_msg'), json_extract(event, '$.info.error'),
    json_extract(event, '$.error')
) END
"""
# Reasons for a normal end, as the server writes them.
_IN_ORDER = """VALUES ('GovernorRemoved', 'it has stopped'), ('GovernorRemoved', 'it has drained'),
    ('ClientRemoved', ''), ('ClientRemoved', 'the other side closed the connection')"""
_OF_USER = """+session IN (
    SELECT session FROM events
    WHERE event_type = 'SessionNew' AND json_extract(event, '$.belongs_to') = :user
)"""
_NEWEST = """
SELECT id, timestamp, event_type, session, {about},
    (coalesce(json_extract(event, '$.info.error'), json_extract(event, '$.error_msg')) IS NOT NULL
        AND (event_type, coalesce(json_extract(event, '$.error_msg'), '')) NOT IN ({in_order}))
        OR coalesce(json_extract(event, '$.reason'), '') = 'Error',
    substr(event, 1, {text}), length(event) FROM events
WHERE {where} ORDER BY id DESC LIMIT {most}
"""


def newest(path: Path, query: Query, user: str | None = None) -> list[dict[str, Any]]:
    """The newest events that match a query, newest first.

    With a user only those of the sessions of this user.
    """
    chosen = selection(query)
    where = chosen.where if user is None else f"{chosen.where} AND {_OF_USER}"
    parameters = chosen.parameters if user is None else chosen.parameters | {"user": user}
    statement = _NEWEST.format(
        about=_ABOUT, where=where, text=_TEXT, most=MOST_EVENTS, in_order=_IN_ORDER
    )
    with opened(path) as database:
        found = database.execute(statement, parameters).fetchall()
    return [
        {
            "id": event_id,
            "time": time,
            "type": event_type,
            "session": session,
            "about": " · ".join([part for part in json.loads(about) if part])[:_LINE],
            "trouble": bool(trouble),
            "text": text,
            "letters": letters,
        }
        for event_id, time, event_type, session, about, trouble, text, letters in found
    ]
