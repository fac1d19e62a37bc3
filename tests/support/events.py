"""The event log of a small world, without a file."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen

from rain.server.core.collector import Happenings
from rain.server.history.rows import rows_of
from tests.support.world import World


@frozen
class Logged:
    """One row of the event log."""

    type: str
    session: int | None
    event: dict[str, Any]
    time: str = ""


def listen(world: World, *, with_objects: bool = False, limit: int = 1_000_000) -> Happenings:
    """From now on it is noted what happens in the world."""
    happenings = world.state.happenings = Happenings(with_objects, limit)
    return happenings


def logged(happenings: Happenings) -> list[Logged]:
    """All that was noted since the last time, as rows."""
    return [
        Logged(rows.event_type, rows.session, json.loads(event), rows.time)
        for happening in happenings.take().happenings
        for rows in rows_of(happening)
        for event in rows.events
    ]


def types(rows: list[Logged]) -> list[str]:
    return [row.type for row in rows]
