"""Tasks as rows of a table, filtered and sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rain.server.dashboard.digest import TASK_MARKS, Digest, Mark

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
    numbers = np.flatnonzero(chosen)
    if order == "longest":
        durations = columns.durations()[numbers]
        numbers = numbers[np.argsort(-durations, kind="stable")]
    elif order == "newest":
        started = columns.starts()[numbers]
        numbers = numbers[np.argsort(-started, kind="stable")]
    shown = numbers[skip : skip + MOST_ROWS]
    return {
        "total": len(numbers),
        "skipped": skip,
        "tasks": [task_row(digest, int(number)) for number in shown],
    }


def task_row(digest: Digest, number: int) -> dict[str, Any]:
    """The row of one task."""
    columns = digest.columns
    mark = Mark(columns.mark[number])
    begun = mark in {Mark.RUNNING, Mark.FINISHED, Mark.FAILED}
    return {
        "task": number,
        "name": digest.groups.texts[columns.group[number]],
        "state": mark.name.lower(),
        "governor": digest.governors.texts[columns.governor[number]] if begun else "",
        "started": columns.started[number] or None if begun else None,
        "seconds": columns.duration[number] if begun and mark is not Mark.RUNNING else None,
        "runs": columns.runs[number],
    }
