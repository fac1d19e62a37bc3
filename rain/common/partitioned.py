"""Encodes partitioned values: the pieces that one input of a shuffle was split into.

As data they are one object with an index (rain/stream/parts.py). A reader of one part reads the
bytes of one piece.

The collected pieces of one part have the same form: the pieces of some inputs, one after the other,
in their original bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, BinaryIO, Self

from rain.base.errors import RefusedError
from rain.common.errors import RainException
from rain.common.pickles import Part, load
from rain.stream.parts import count_of, in_memory, laid_out, place_of, write_laid_out

PARTITIONED = "parts"
"""The content type."""

COLLECTED = "pieces"
"""The content type of what was collected of one part."""


class Partitioned:
    """Returned by a task that makes pieces for the parts: a mapping by number, since some parts may
    have none.
    """

    pieces: Mapping[int, Any]
    size = 0
    """About how many bytes pieces have together that are made one by one."""

    def __init__(self, pieces: Sequence[Any] | Mapping[Any, Any], parts: int) -> None:
        if isinstance(pieces, Mapping):
            known: Mapping[Any, Any] = pieces
            self.pieces = {_number(part, parts): piece for part, piece in known.items()}
        else:
            listed = list(pieces)
            if len(listed) != parts:
                raise RainException(
                    f"split has returned {len(listed)} pieces for {parts} parts: return a list with"
                    " one for each, or a dictionary of those that there are"
                )
            self.pieces = dict(enumerate(listed))
        self.parts = parts

    @classmethod
    def made_one_by_one(cls, pieces: Mapping[int, Any], parts: int, size: int) -> Self:
        """Pieces that are made when they are asked for: never more than one is in memory."""
        made = cls({}, parts)
        made.pieces = pieces
        made.size = size
        return made


def _number(part: Any, parts: int) -> int:
    """The number of a part, which may also be one of numpy."""
    try:
        number = index(part)
    except TypeError:
        number = -1
    if not 0 <= number < parts:
        raise RainException(
            f"split has returned a piece for the part {part!r}; the parts are the numbers from 0"
            f" to {parts - 1}"
        )
    return number


def encode_partitioned(value: Any, encode: Any) -> list[Part]:
    """The bytes of all pieces, each written by `encode`, behind their index."""
    if not isinstance(value, Partitioned):
        raise RainException(f"only what a split has made can be encoded so, not {type(value)!r}")
    return laid_out([*_encoded(value, encode)])


def write_partitioned(value: Partitioned, encode: Any, file: BinaryIO) -> None:
    """Writes the same bytes to a new file, and lets go of each piece before the next is made."""
    write_laid_out(file, _encoded(value, encode), value.parts)


def _encoded(value: Partitioned, encode: Any) -> Iterator[Sequence[Part]]:
    pieces = value.pieces
    for part in range(value.parts):
        yield encode(pieces[part]) if part in pieces else []


def decode_partitioned(data: Part) -> dict[int, Any]:
    """All pieces by the numbers of their parts."""
    read = in_memory(data)
    try:
        places = {part: place_of(read, part) for part in range(count_of(read))}
    except RefusedError as error:
        raise RainException(f"The data cannot be decoded: {error}") from None
    return {
        part: load(data[offset : offset + length])
        for part, (offset, length) in places.items()
        if length
    }


class Collected:
    """The pieces of one part that come from some inputs; loaded one by one."""

    def __init__(self, pieces: Iterable[Part | None], count: int, size: int = 0) -> None:
        self.pieces = pieces  # as they were written; None where an input has none
        self.count = count
        self.size = size  # about how many bytes, if they are read as they are asked for

    def __iter__(self) -> Iterator[Any]:
        return (load(piece) for piece in self.pieces if piece is not None)


def encode_collected(value: Any) -> list[Part]:
    """Their bytes behind an index."""
    if not isinstance(value, Collected):
        raise RainException(f"only collected pieces can be encoded so, not {type(value)!r}")
    return laid_out([*_each(value)])


def write_collected(value: Collected, file: BinaryIO) -> None:
    """Writes the same bytes to a new file, of each piece as soon as it was read."""
    write_laid_out(file, _each(value), value.count)


def _each(value: Collected) -> Iterator[Sequence[Part]]:
    return ([] if piece is None else [piece] for piece in value.pieces)


def decode_collected(data: Part) -> Collected:
    """The pieces where they are; none is loaded."""
    read = in_memory(data)
    try:
        places = [place_of(read, number) for number in range(count_of(read))]
    except RefusedError as error:
        raise RainException(f"The data cannot be decoded: {error}") from None
    pieces = [data[offset : offset + length] if length else None for offset, length in places]
    return Collected(pieces, len(pieces))
