"""Wrappers that the tasks of a shuffle call around the functions of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rain.base.exchange import ListedObject
from rain.common.partitioned import Collected, Partitioned
from rain.common.pieces import BYTES_AT_ONCE, Pieces, PiecesInRounds


class Split:
    """Splits one input into a piece for each part."""

    def __init__(self, fn: Callable[..., Any], parts: int) -> None:
        self._fn = fn
        self._parts = parts

    def __call__(self, value: Any) -> Partitioned:
        return Partitioned(self._fn(value, self._parts), self._parts)


def pieces_of(listed: list[ListedObject], part: int) -> Pieces:
    """In a pickled argument: what the function gets for one part of an exchange."""
    return Pieces(listed, part)


def pieces_in_rounds(
    collected: Sequence[Collected], listed: list[ListedObject], part: int
) -> PiecesInRounds:
    """As `pieces_of`, where the pieces of the first inputs were collected."""
    return PiecesInRounds(collected, Pieces(listed, part))


def collect(pieces: Pieces, before: Collected | None) -> Collected:
    """Brings the pieces of one part and some inputs to one place, in their original bytes.

    `before` is the result of the previous round for the same part: because it is an input, the task
    prefers to run in the same place. Much is written while it is read, so it may be more than fits
    into memory.
    """
    written = pieces.written
    if written.size > BYTES_AT_ONCE:
        return Collected(written, written.count, written.size)
    return Collected([*written], written.count)


class TakeApart:
    """Takes some items out of the result of a function, by the numbers of their parts."""

    def __init__(self, fn: Callable[..., Any], parts: tuple[int, ...]) -> None:
        self._fn = fn
        self._parts = parts

    def __call__(self, *args: Any) -> Partitioned:
        made = self._fn(*args)
        return Partitioned({part: made[part] for part in self._parts}, max(self._parts) + 1)
