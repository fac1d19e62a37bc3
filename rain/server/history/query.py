"""The query language of the event log, in JSON.

    {"id": {"value": 120, "mode": ">"},
     "event_types": [{"value": "TaskStarted", "mode": "="}, {"value": "TaskFinished", "mode": "="}],
     "session": {"value": 3, "mode": "="}}

Every part is optional; the parts are joined by "and", the event types by "or". Any other query is
refused with a one-line error.
"""

from __future__ import annotations

import json
from typing import TypeGuard

from attrs import frozen

from rain.base.errors import RefusedError

MODES = ("=", "<", ">", "<=", ">=")
_LARGEST = 2**63 - 1


@frozen
class Condition:
    """A comparison with one value."""

    value: int | str
    mode: str


@frozen
class Query:
    """A conjunction of conditions; event types are alternatives, and none means all."""

    id: Condition | None = None
    event_types: tuple[Condition, ...] = ()
    session: Condition | None = None


def parse(body: bytes) -> Query:
    """Parses a query; raises RefusedError if it is not valid."""
    try:
        given: object = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError("the query is not JSON") from None
    if not _is_object(given):
        raise RefusedError("the query is not a JSON object")
    surplus = sorted(given.keys() - {"id", "event_types", "session"})
    if surplus:
        raise RefusedError(
            f"the query has the unknown part {surplus[0]!r}; known: id, event_types, session"
        )
    return Query(
        _number("id", given.get("id")),
        _event_types(given.get("event_types")),
        _number("session", given.get("session")),
    )


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _number(part: str, given: object) -> Condition | None:
    if given is None:
        return None
    value, mode = _condition(part, given)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise RefusedError(f"{part}: the value must be a whole number of 64 bits")
    return Condition(value, mode)


def _event_types(given: object) -> tuple[Condition, ...]:
    if given is None:
        return ()
    if not _is_list(given):
        raise RefusedError("event_types: this must be a list of conditions")
    if not 0 < len(given) <= 100:
        raise RefusedError("event_types: name 1 to 100 types, or leave it out to see all")
    types: list[Condition] = []
    for entry in given:
        value, mode = _condition("event_types", entry)
        if not isinstance(value, str) or not value.isascii():
            raise RefusedError("event_types: a value must be the name of an event type")
        types.append(Condition(value, mode))
    return tuple(types)


def _condition(part: str, given: object) -> tuple[object, str]:
    if not _is_object(given) or given.keys() != {"value", "mode"}:
        raise RefusedError(f'{part}: a condition is {{"value": ..., "mode": ...}}')
    mode = given["mode"]
    if not isinstance(mode, str) or mode not in MODES:
        raise RefusedError(f"{part}: the mode must be one of {' '.join(MODES)}")
    return given["value"], mode


@frozen
class Selection:
    """A query as the SQL text after WHERE, and its named parameters."""

    where: str
    parameters: dict[str, int | str]


def selection(query: Query) -> Selection:
    """The SQL of a query.

    A plus before a column prevents SQLite from using its index. Only an index that gives the rows
    in the order of their ids may be used; otherwise every page of a long answer would collect and
    sort all remaining rows.
    """
    where: list[str] = []
    parameters: dict[str, int | str] = {}
    session, types = query.session, query.event_types
    by_session = session is not None and session.mode == "="
    by_type = not by_session and len(types) == 1 and types[0].mode == "="
    if query.id is not None:
        where.append(f"id {query.id.mode} :id")
        parameters["id"] = query.id.value
    if session is not None:
        where.append(f"{'' if by_session else '+'}session {session.mode} :session")
        parameters["session"] = session.value
    if types:
        column = "event_type" if by_type else "+event_type"
        names = [f"type{place}" for place in range(len(types))]
        alternatives = [
            f"{column} {each.mode} :{name}" for each, name in zip(types, names, strict=True)
        ]
        where.append(f"({' OR '.join(alternatives)})")
        parameters.update({name: each.value for each, name in zip(types, names, strict=True)})
    return Selection(" AND ".join(where) or "1", parameters)
