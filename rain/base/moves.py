"""Where the moves of the state tables lead, as dictionaries that know what they do not allow."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NoReturn, TypeVar

from rain.base.errors import InvariantError

Row = TypeVar("Row", bound=enum.Enum)


class Ends(dict[Row, Row]):
    """Where one move leads, by the row where it starts. To look an end up calls no function."""

    def __init__(self, move: enum.Enum, ends: Iterable[tuple[Row, Row]]) -> None:
        super().__init__(ends)
        self._move = move

    def __missing__(self, row: Row) -> NoReturn:
        raise InvariantError(f"what is {row.name.lower()} cannot move by {self._move.value!r}")
