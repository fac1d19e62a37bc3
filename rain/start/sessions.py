"""Lists, removes and shares the durable sessions of a server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from attrs import asdict

from rain.base.wire.answers import DurableReport
from rain.base.wire.requests import DurableSessions, RemoveDurable, ShareDurable
from rain.start.reaching import ReachedServer, asking

_SHARED = 7
"""The column with the users a session is shared with."""


def ask_sessions(
    reached: ReachedServer, remove: str = "", share: str = "", users: tuple[str, ...] = ()
) -> Sequence[DurableReport]:
    """Removes or shares a durable session, if one is named; then those that are there."""
    with asking(reached.address, reached.keys) as connection:
        if remove:
            connection.ask(RemoveDurable(remove))
        if share:
            connection.ask(ShareDurable(share, users))
        return connection.ask(DurableSessions()).sessions


def as_json(reports: Sequence[DurableReport]) -> str:
    return json.dumps([asdict(one) for one in reports], indent=2)


def as_text(reports: Sequence[DurableReport]) -> str:
    """A line for each."""
    if not reports:
        return "There is no durable session."
    rows: list[tuple[str, ...]] = [
        ("NAME", "SINCE", "OPEN", "TASKS", "FINISHED", "FAILED", "BYTES", "SHARED WITH")
    ]
    for one in reports:
        since = datetime.fromtimestamp(one.since).astimezone().strftime("%Y-%m-%d %H:%M")
        numbers = (one.clients, one.tasks, one.finished, one.failed, one.bytes)
        rows.append((one.name, since, *map(str, numbers), ", ".join(one.shared_with)))
    if not any(one.shared_with for one in reports):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 or place == _SHARED else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
