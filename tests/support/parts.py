"""Parts of partitioned values that a test has as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rain.base.exchange import ListedObject
from rain.common.pickles import Part
from rain.stream.parts import in_memory, place_of


def read_parts(
    objects: Sequence[bytes], part: int, members: Iterable[ListedObject]
) -> list[Part | None]:
    """One part of each of these values; None for those that have nothing of it."""
    found: list[Part | None] = []
    for one in members:
        data = objects[one.object]
        offset, length = place_of(in_memory(data), part)
        found.append(data[offset : offset + length] or None)
    return found
