"""Cuts chunks of arrays into pieces, and makes chunks of pieces, for the tasks of a rechunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import accumulate, product
from typing import Any, TypeAlias

import numpy as np

from rain.base.exchange import ListedObject
from rain.common.errors import RainException
from rain.common.partitioned import Partitioned
from rain.common.pieces import Pieces

Box: TypeAlias = Sequence[tuple[int, int]]
Extents: TypeAlias = Sequence[Sequence[int]]


def cut_apart(
    chunk: Any, shape: tuple[int, ...], cuts: Sequence[tuple[int, Box]], parts: int
) -> Partitioned:
    """Pieces of a chunk, by the numbers of the parts that they belong to."""
    if np.shape(chunk) != shape:
        raise RainException(
            f"a chunk has the shape {np.shape(chunk)}, and its array says that it is {shape}:"
            " tell Dask the chunks that a function makes, for instance by map_blocks(..., chunks=)"
        )
    return Partitioned({part: _cut(chunk, box) for part, box in cuts}, parts)


def _cut(chunk: Any, box: Box) -> Any:
    piece = chunk[tuple([slice(start, stop) for start, stop in box])]
    # Only contiguous memory is read without a copy, or mapped.
    return np.ascontiguousarray(piece) if type(piece) is np.ndarray else piece


def assembled(listed: list[ListedObject], part: int, extents: Extents) -> Any:
    """A chunk made of its pieces. They come in the order of their places in it."""
    return assemble(Pieces(listed, part), extents)


def assemble(pieces: Iterable[Any], extents: Extents) -> Any:
    """The same; arrays of numpy are copied as they are read, and not all of them held."""
    made: Any = None
    places = product(*[_ranges(lengths) for lengths in extents])
    for piece, place in zip(pieces, places, strict=True):
        if type(piece) is not np.ndarray:
            return _put_together([*pieces], extents)
        if made is None:
            made = np.empty([sum(lengths) for lengths in extents], piece.dtype)
        made[place] = piece
    return made


def _ranges(lengths: Sequence[int]) -> list[slice]:
    return [
        slice(stop - length, stop)
        for length, stop in zip(lengths, accumulate(lengths), strict=True)
    ]


def _put_together(pieces: list[Any], extents: Extents) -> Any:
    """Arrays of other kinds, such as masked ones, as Dask puts them together."""
    concatenate: Any = import_module("dask.array.core").concatenate_shaped
    return concatenate(pieces, [len(lengths) for lengths in extents])
