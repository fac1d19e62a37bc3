"""Computes how the chunks of an array overlap with those of another array of the same shape.

A grid of chunks has the lengths of its chunks on each axis, as `x.chunks` of Dask has them. A chunk
is named by its place in the grid.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate, product
from typing import Any, TypeAlias

from attrs import frozen

Grid: TypeAlias = tuple[tuple[int, ...], ...]
Place: TypeAlias = tuple[int, ...]
Range: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[Range, ...]  # what is cut out of a chunk: a range of each axis


@frozen
class Exchanged:
    """Chunks that are made of others: each of the new ones of at least one piece of an old one.

    No other chunk, old or new, has to do with any of these.
    """

    old: tuple[Place, ...]
    new: tuple[Place, ...]
    cuts: tuple[tuple[tuple[int, Box], ...], ...]  # of each old one: which of the new, and what
    extents: tuple[Grid, ...]  # of each new one: the lengths of its pieces on each axis

    @property
    def pieces(self) -> int:
        """How many pieces the old chunks are cut into."""
        return sum(map(len, self.cuts))


@frozen
class _Overlap:
    """The part of an old range of one axis that goes into a new one."""

    old: int
    start: int
    stop: int


def exact(chunks: Any) -> Grid | None:
    """The grid that Dask describes, if it says how long each chunk is, and none is empty."""
    lengths = [length for axis in chunks for length in axis]
    if not lengths or not all(length > 0 for length in lengths):  # unknown lengths are no numbers
        return None
    return tuple([tuple(map(int, axis)) for axis in chunks])


def exchanges(old: Grid, new: Grid, wanted: Iterable[Place]) -> list[Exchanged]:
    """How the wanted chunks of a new grid are made of those of an old one."""
    axes = [_overlaps(*lengths) for lengths in zip(old, new, strict=True)]
    groups = [_groups(axis) for axis in axes]
    together: dict[Place, list[Place]] = defaultdict(list)
    for place in sorted(wanted):
        alone = tuple([group[at] for group, at in zip(groups, place, strict=True)])
        together[alone].append(place)
    return [_exchanged(axes, places) for places in together.values()]


def _overlaps(old: tuple[int, ...], new: tuple[int, ...]) -> list[list[_Overlap]]:
    """For each new range of an axis, the old ones that it is made of."""
    begins = [0, *accumulate(old)]
    found: list[list[_Overlap]] = []
    stop = 0
    for length in new:
        start, stop = stop, stop + length
        at = bisect_right(begins, start) - 1
        taken: list[_Overlap] = []
        while at < len(old) and begins[at] < stop:
            begin = begins[at]
            taken.append(_Overlap(at, max(start - begin, 0), min(stop - begin, old[at])))
            at += 1
        found.append(taken)
    return found


def _groups(axis: list[list[_Overlap]]) -> list[int]:
    """A number for each new range: equal where they are connected by old ranges."""
    groups: list[int] = []
    last = -1
    for place, taken in enumerate(axis):
        groups.append(groups[-1] if place and taken[0].old == last else place)
        last = taken[-1].old
    return groups


def _exchanged(axes: list[list[list[_Overlap]]], new: list[Place]) -> Exchanged:
    cuts: dict[Place, list[tuple[int, Box]]] = defaultdict(list)
    extents: list[Grid] = []
    for number, place in enumerate(new):
        taken = [axis[at] for axis, at in zip(axes, place, strict=True)]
        for piece in product(*taken):
            box = tuple([(one.start, one.stop) for one in piece])
            cuts[tuple([one.old for one in piece])].append((number, box))
        extents.append(tuple([tuple([one.stop - one.start for one in axis]) for axis in taken]))
    old = tuple(sorted(cuts))
    return Exchanged(old, tuple(new), tuple([tuple(cuts[place]) for place in old]), tuple(extents))
