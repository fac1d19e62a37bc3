"""The load of the governors' machines as lines to draw; read from the event log in a thread."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from rain.server.dashboard.reading import opened

POINTS = 180
MOST_GOVERNORS = 64
LONGEST = 7 * 24 * 60
"""The longest time range in minutes."""

# For each governor and each of the equal time slices: the mean of cpus and memory, and the network
# counters at its end. Loopback does not count.
_PIECES = """
SELECT group_concat(json_array(governor, piece, cpus, memory, received, sent), ',') FROM (
    SELECT json_extract(event, '$.governor') AS governor,
        CAST(((julianday(timestamp) - 2440587.5) * 86400.0 - :since) / :step AS INTEGER) AS piece,
        avg((SELECT avg(value) FROM json_each(event, '$.cpu_usage'))) AS cpus,
        avg(json_extract(event, '$.mem_usage')) AS memory,
        max((SELECT sum(json_extract(value, '$[0]')) FROM json_each(event, '$.net_stat')
            WHERE key <> 'lo')) AS received,
        max((SELECT sum(json_extract(value, '$[1]')) FROM json_each(event, '$.net_stat')
            WHERE key <> 'lo')) AS sent
    FROM events WHERE event_type = 'Monitoring' AND id >= :first
    GROUP BY governor, piece ORDER BY governor, piece
)
"""


def machines(path: Path, now: float, minutes: float) -> dict[str, Any]:
    """The last minutes of every governor with samples."""
    since = now - min(max(minutes, 1.0), LONGEST) * 60.0
    step = (now - since) / POINTS
    text = datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds")
    with opened(path) as database:
        ((first,),) = database.execute("SELECT min(id) FROM events WHERE timestamp >= ?", (text,))
        given = {"since": since, "step": step, "first": first or 2**62}
        ((pieces,),) = database.execute(_PIECES, given)
    return {"since": since, "until": now, **lines(json.loads(f"[{pieces or ''}]"), since, step)}


def lines(pieces: list[list[Any]], since: float, step: float) -> dict[str, Any]:
    """Converts ordered slices to lines: times, percentages, and bytes per second."""
    every = [
        (str(governor), [row[1:] for row in rows])
        for governor, rows in groupby(pieces, lambda row: row[0])
    ]
    shown = [_line(governor, rows, since, step) for governor, rows in every[:MOST_GOVERNORS]]
    return {"governors": shown, "hidden": len(every) - len(shown)}


def _line(governor: str, rows: list[list[Any]], since: float, step: float) -> dict[str, Any]:
    received: list[float | None] = [None]
    sent: list[float | None] = [None]
    for before, after in pairwise(rows):
        seconds = (after[0] - before[0]) * step
        received.append(_rate(before[3], after[3], seconds))
        sent.append(_rate(before[4], after[4], seconds))
    return {
        "governor": governor,
        "times": [round(since + (row[0] + 0.5) * step, 3) for row in rows],
        "cpu": [_rounded(row[1]) for row in rows],
        "memory": [_rounded(row[2]) for row in rows],
        "received": received,
        "sent": sent,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _rate(before: float | None, after: float | None, seconds: float) -> float | None:
    """The rate of a counter; None if it is unknown or was reset."""
    if before is None or after is None or after < before:
        return None
    return round((after - before) / seconds, 1)
