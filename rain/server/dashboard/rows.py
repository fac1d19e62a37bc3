"""Tasks as rows of a table, filtered and sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rain.server.dashboard.digest import TASK_MARKS, Digest, LoggedState

MOST_ROWS = 200
ORDERS = ("number", "longest", "newest")


def task_rows(
    digest: Digest,
    name: str = "",
    state: str = "",
    order: str = "number",
    skip: int = 0,
) -> dict[str, Any]:
    """At most `MOST_ROWS` tasks of a name (or of all names below "name/") in a state."""
    columns = digest.columns
    mark = columns.marks()
    marks = [each for each in TASK_MARKS if state in {"", each.name.lower()}]
    chosen = np.isin(mark, marks)
    if name:
        fitting = [
            place
            for place, text in enumerate(digest.groups.texts)
            if text == name or text.startswith(f"{name}/")
        ]
        chosen &= np.isin(columns.groups(), fitting)
    places = np.flatnonzero(chosen)
    if order == "longest":
        durations = columns.durations()[places]
        places = places[np.argsort(-durations, kind="stable")]
    elif order == "newest":
        started = columns.starts()[places]
        places = places[np.argsort(-started, kind="stable")]
    shown = places[skip : skip + MOST_ROWS]
    return {
        "total": len(places),
        "skipped": skip,
        "tasks": [_row(digest, int(place)) for place in shown],
    }


def _row(digest: Digest, place: int) -> dict[str, Any]:
    """The row of one task."""
    columns = digest.columns
    mark = LoggedState(columns.mark[place])
    begun = mark in {LoggedState.RUNNING, LoggedState.FINISHED, LoggedState.FAILED}
    return {
        "task": columns.number(place),
        "name": digest.groups.texts[columns.group[place]],
        "state": mark.name.lower(),
        "governor": digest.governors.texts[columns.governor[place]] if begun else "",
        "started": columns.started[place] or None if begun else None,
        "seconds": columns.duration[place] if begun and mark is not LoggedState.RUNNING else None,
        "runs": columns.runs[place],
    }
