"""Partitioned values: the pieces that one input of a shuffle was split into.

As data they are one object with an index (rain/stream/parts.py). Who reads one part reads the bytes
of one piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rain.base.errors import RefusedError
from rain.common.errors import RainException
from rain.common.pickles import Part, load
from rain.stream.parts import count_of, in_memory, laid_out, place_of

PARTITIONED = "parts"
"""The content type."""


class Partitioned:
    """What a task returns that makes a piece for each part: by number, since some may lack."""

    def __init__(self, pieces: Sequence[Any] | Mapping[int, Any], parts: int) -> None:
        if isinstance(pieces, Mapping):
            known: Mapping[Any, Any] = pieces
            for part in known:
                if type(part) is not int or not 0 <= part < parts:
                    raise RainException(
                        f"split has returned a piece for the part {part!r}; the parts are the"
                        f" numbers from 0 to {parts - 1}"
                    )
            self.pieces = dict(known)
        else:
            listed = list(pieces)
            if len(listed) != parts:
                raise RainException(
                    f"split has returned {len(listed)} pieces for {parts} parts: return a list with"
                    " one for each, or a dictionary of those that there are"
                )
            self.pieces = dict(enumerate(listed))
        self.parts = parts


def encode_partitioned(value: Any, encode: Any) -> list[Part]:
    """The bytes of all pieces, each written by `encode`, behind their index."""
    if not isinstance(value, Partitioned):
        raise RainException(f"only what a split has made can be encoded so, not {type(value)!r}")
    pieces = value.pieces
    return laid_out([encode(pieces[part]) if part in pieces else [] for part in range(value.parts)])


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
