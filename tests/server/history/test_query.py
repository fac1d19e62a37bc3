"""The query language of the event log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product

import pytest

from rain.base.errors import RefusedError
from rain.server.history.query import MODES, Condition, Query, parse, selection


def test_a_query_is_read() -> None:
    body = (
        b'{"id": {"value": 7, "mode": ">"},'
        b' "event_types": [{"value": "TaskStarted", "mode": "="}, {"value": "T", "mode": "<"}],'
        b' "session": {"value": 3, "mode": ">="}}'
    )

    assert parse(body) == Query(
        Condition(7, ">"),
        (Condition("TaskStarted", "="), Condition("T", "<")),
        Condition(3, ">="),
    )


@pytest.mark.parametrize("body", [b"{}", b'{"id": null, "event_types": null, "session": null}'])
def test_every_part_may_be_left_out(body: bytes) -> None:
    assert parse(body) == Query()


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"sessions": 1}', "unknown part 'sessions'; known: id, event_types, session"),
        (b'{"id": 7}', 'id: a condition is {"value": ..., "mode": ...}'),
        (b'{"id": {"value": 7}}', "id: a condition is"),
        (b'{"id": {"value": 7, "mode": "=", "or": 1}}', "id: a condition is"),
        (b'{"id": {"value": "7", "mode": "="}}', "id: the value must be a whole number"),
        (b'{"id": {"value": true, "mode": "="}}', "id: the value must be a whole number"),
        (b'{"id": {"value": 9223372036854775808, "mode": "="}}', "64 bits"),
        (b'{"session": {"value": 1, "mode": "LIKE"}}', "session: the mode must be one of = <"),
        (b'{"session": {"value": 1, "mode": "= 1; --"}}', "session: the mode must be one of"),
        (b'{"session": {"value": 1, "mode": ["="]}}', "session: the mode must be one of"),
        (b'{"event_types": {"value": "T", "mode": "="}}', "event_types: this must be a list"),
        (b'{"event_types": []}', "event_types: name 1 to 100 types"),
        (b'{"event_types": ["T"]}', "event_types: a condition is"),
        (b'{"event_types": [{"value": 1, "mode": "="}]}', "must be the name of an event type"),
    ],
)
def test_a_bad_query_is_refused_with_one_line(body: bytes, line: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse(body)

    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


ROWS = [
    (number, event_type, session)
    for number, (event_type, session) in enumerate(
        product(["A", "B", "C", "' OR 1 --"], [None, 1, 2, 3]), 1
    )
]


@pytest.fixture
def events() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, event_type, session)")
        database.executemany("INSERT INTO events VALUES (?, ?, ?)", ROWS)
        yield database


def _holds(mode: str, left: int | str | None, right: int | str) -> bool:
    """What a comparison means, in Python."""
    if left is None:
        return False
    # Of one type, so the one-element lists compare as their elements do.
    lefts, rights = [left], [right]
    order = (lefts > rights) - (lefts < rights)
    return {"=": order == 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[
        mode
    ]


@pytest.mark.parametrize(("id_mode", "session_mode"), [*product(MODES, MODES)])
def test_parts_are_joined_by_and_and_types_by_or(
    events: sqlite3.Connection, id_mode: str, session_mode: str
) -> None:
    types = [("B", "="), ("' OR 1 --", "<=")]
    query = {
        "id": {"value": 9, "mode": id_mode},
        "session": {"value": 2, "mode": session_mode},
        "event_types": [{"value": value, "mode": mode} for value, mode in types],
    }

    chosen = selection(parse(json.dumps(query).encode()))
    found = events.execute(
        f"SELECT id, event_type, session FROM events WHERE {chosen.where} ORDER BY id",
        chosen.parameters,
    ).fetchall()

    assert found == [
        (number, event_type, session)
        for number, event_type, session in ROWS
        if _holds(id_mode, number, 9)
        and _holds(session_mode, session, 2)
        and any(_holds(mode, event_type, value) for value, mode in types)
    ]
