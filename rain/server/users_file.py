"""Reads the file `users.toml`: the rights and limits of the users of a cluster.

    [default]              # users without a table of their own
    locked = true

    [users.ada]
    admin = true
    weight = 2

The server reads it when it starts, and again when it has changed. At the start a mistake in the
file is an error. Later it is only logged, and the rules that were read before stay in force.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import attrs
import trio
from structlog.typing import FilteringBoundLogger

from rain.base.errors import StartError
from rain.base.sizes import parse_size
from rain.base.users import DEFAULT, OWNER, UserRule, check_user

EVERY = 2.0
"""Seconds between two looks whether the file has changed."""

Rules = tuple[UserRule, ...]

_TABLES = {"default", "owner", "users"}
_FIELDS = {
    one.name: one for one in attrs.fields(attrs.resolve_types(UserRule)) if one.name != "name"
}


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_weight(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < inf


_CHECKS: Mapping[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("true or false", _is_flag),
    int: ("a whole number, or 0 for no limit", _is_count),
    float: ("a number above 0", _is_weight),
}
"""The description of each type in error messages, and the check whether a value has the type."""


def read_users(path: Path) -> Rules:
    """The rules in a file; StartError says what is wrong where."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StartError(f"the file of users {path} cannot be read: {why}") from None
    try:
        return parse_users(text)
    except ValueError as error:
        raise StartError(f"the file of users {path}: {error}") from None


def parse_users(text: str) -> Rules:
    """The rules in the text of a file; ValueError says what is wrong."""
    tables = tomllib.loads(text)
    unknown = tables.keys() - _TABLES
    if unknown:
        raise ValueError(
            f"{min(unknown)!r} is not known: there are the tables [default], [owner] and"
            " [users.NAME]"
        )
    rules: list[UserRule] = []
    if "default" in tables:
        rules.append(_rule(DEFAULT, "[default]", tables["default"]))
    if "owner" in tables:
        rules.append(_rule(OWNER, "[owner]", tables["owner"]))
        if rules[-1].locked:
            raise ValueError("[owner] cannot be locked")
    users = _table("[users]", tables.get("users", {}))
    return (
        *rules,
        *(_rule(check_user(name), f"[users.{name}]", one) for name, one in users.items()),
    )


def _table(where: str, table: Any) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise ValueError(f"{where} has to be a table")
    return table


def _rule(name: str, where: str, table: Any) -> UserRule:
    said = {key: _read(where, key, value) for key, value in _table(where, table).items()}
    for key, value in said.items():
        if key not in _FIELDS:
            raise ValueError(f"{where} has {key!r}; it may have {', '.join(_FIELDS)}")
        wanted, is_right = _CHECKS[_FIELDS[key].type]
        if not is_right(value):
            raise ValueError(f"{where} {key} is {wanted}, not {value!r}")
    fields: dict[str, Any] = {**said, "weight": float(said.get("weight", 1.0))}
    return UserRule(name, **fields)


def _read(where: str, key: str, value: Any) -> Any:
    """Sizes may be written with a unit."""
    if key != "bytes" or type(value) is not str:
        return value
    try:
        return parse_size(value)
    except ValueError as error:
        raise ValueError(f"{where} bytes: {error}") from None


async def keep_reading(
    path: Path,
    rules: Rules,
    hear: Callable[[Rules], object],
    log: FilteringBoundLogger,
    every: float = EVERY,
) -> None:
    """Calls the function with the new rules whenever the file has changed."""
    said = ""
    while True:
        await trio.sleep(every)
        try:
            found = read_users(path)
        except StartError as error:
            if str(error) != said:
                said = str(error)
                log.warning("the rules for users stay as they were", reason=said)
            continue
        said = ""
        if found != rules:
            rules = found
            hear(rules)
