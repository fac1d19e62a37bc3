"""Values of a JSON file with their places, for error messages."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import Any, TypeGuard, overload

from attrs import frozen

from rain.lab.workload import LabError

_NO_TEXT = ""


@frozen
class PlacedValue:
    """A value and its place, for instance `tasks[3].duration`."""

    path: str
    value: Any

    def wrong(self, why: str) -> LabError:
        """Makes an error about this place."""
        return LabError(f"{self.path}: {why}" if self.path else why)

    def at(self, key: str) -> PlacedValue:
        """The entry of a table; its value is None if it is missing."""
        return PlacedValue(f"{self.path}.{key}" if self.path else key, self.value.get(key))

    def one(self, number: int) -> PlacedValue:
        """An item of a list."""
        return PlacedValue(f"{self.path}[{number}]", self.value[number])

    def mapping(self) -> Mapping[str, Any]:
        """The value, which must be a table."""
        if not _is_table(self.value):
            raise self.wrong(f"this is {_kind(self.value)}, and should be a table")
        return self.value

    def table(self, known: AbstractSet[str]) -> PlacedValue:
        """Checks that this is a table with known keys only."""
        for key in self.mapping():
            if key not in known:
                raise self.at(key).wrong(f"unknown; known: {', '.join(sorted(known))}")
        return self

    def items(self, key: str, *, optional: bool = False) -> list[PlacedValue]:
        """The items of an entry that is a list."""
        entry = self.at(key)
        if entry.value is None and optional:
            return []
        if not _is_list(entry.value):
            raise entry.wrong(f"this is {_kind(entry.value)}, and should be a list")
        return [PlacedValue(f"{entry.path}[{i}]", value) for i, value in enumerate(entry.value)]

    def as_text(self) -> str:
        """The value, which must be a non-empty text."""
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong(f"this is {_kind(self.value)}, and should be a text")
        return self.value

    def text(self, key: str, default: str = _NO_TEXT) -> str:
        """An entry that is a text."""
        entry = self.at(key)
        return default if entry.value is None and default else entry.as_text()

    @overload
    def number(self, key: str, default: float) -> float: ...
    @overload
    def number(self, key: str, default: None) -> float | None: ...
    def number(self, key: str, default: float | None) -> float | None:
        """An entry that is a number, 0 or more."""
        entry = self.at(key)
        value = entry.value
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise entry.wrong(f"this is {_kind(value)}, and should be a number")
        if not isfinite(value) or value < 0:
            raise entry.wrong(f"{value} is not a number from 0 on")
        return float(value)

    def whole(self, key: str, default: int) -> int:
        """An entry that is a whole number, 0 or more."""
        entry = self.at(key)
        value = entry.value
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise entry.wrong(f"{value!r} is not a whole number from 0 on")
        return value

    def flag(self, key: str) -> bool:
        """An entry that is true or false; false if it is missing."""
        entry = self.at(key)
        if entry.value is not None and not isinstance(entry.value, bool):
            raise entry.wrong(f"this is {_kind(entry.value)}, and should be true or false")
        return bool(entry.value)


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _kind(value: object) -> str:
    names: dict[type, str] = {
        dict: "a table",
        list: "a list",
        str: "a text" if value else "an empty text",
        bool: "a truth value",
        int: "a number",
        float: "a number",
        type(None): "missing",
    }
    return names.get(type(value), type(value).__name__)
