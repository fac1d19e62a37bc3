"""Columns of plain values, packed into few bytes.

With a hundred thousand tasks, most columns have a hundred thousand equal values, or count up. So a
column is written in parts. Each part is packed in the first of these ways that fits: one value for
all; numbers in equal steps; an array of the smallest number type that is large enough; each
different value once, with its places; or simply a list.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

MOST_VALUES = 65_536
"""Values of one part at the most,"""

MOST_BYTES = 16 * 1024 * 1024
"""and bytes, but for its last value."""

SHORT = 256
"""Bytes of a value that are compared with those of others, in the mean of a part."""

Packed = list[Any]
"""A part of a column: in which way it is packed, and what that needs."""

_ALL, _STEPS, _EACH, _LIST = "all", "steps", "each", "list"
_INTEGERS = {code: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
             for code, bits in (("b", 8), ("h", 16), ("i", 32), ("q", 64))}  # fmt: skip


def pack(kind: type, values: list[Any]) -> Iterator[tuple[int, Packed]]:
    """The parts of a column of one of `KINDS`: how many values, and these packed."""
    pack_part = _PACKERS[kind]
    for start in range(0, len(values), MOST_VALUES):
        some = values[start : start + MOST_VALUES]
        for part in _by_weight(some) if kind is bytes else (some,):
            yield len(part), pack_part(part)


def as_list(values: list[Any]) -> Packed:
    """These values as one part, as they are."""
    return [_LIST, values]


def unpack(count: int, packed: Packed) -> list[Any]:
    """The values of a part; what is no such part raises ValueError, TypeError or LookupError."""
    way, *given = packed
    values: list[Any]
    if way == _ALL:
        return list(repeat(given[0], count))
    if way == _STEPS:
        first, step = given
        return list(range(first, first + step * count, step))
    if way == _EACH:
        different, places = given
        values = list(map(different.__getitem__, unpack(count, places)))
    elif way == _LIST:
        (values,) = given
    elif way == "?":
        data: bytes = given[0]
        values = [bool(byte) for byte in data]
    else:
        values = _from_array(way, given[0])
    if len(values) != count:
        raise ValueError(f"{len(values)} values where {count} were expected")
    return values


def _by_weight(values: list[bytes]) -> Iterator[list[bytes]]:
    start = weight = 0
    for place, size in enumerate(map(len, values), 1):
        weight += size
        if weight > MOST_BYTES:
            yield values[start:place]
            start, weight = place, 0
    if start < len(values):
        yield values[start:]


def _integers(values: list[Any]) -> Packed:
    first, count = values[0], len(values)
    if values.count(first) == count:
        return [_ALL, first]
    step = values[1] - first
    lowest, highest = _INTEGERS["q"]
    if (
        step
        and lowest <= step <= highest  # more cannot be packed
        and values[-1] == first + step * (count - 1)
        and values == list(range(first, first + step * count, step))
    ):
        return [_STEPS, first, step]
    least, largest = min(values), max(values)
    for code, (low, high) in _INTEGERS.items():
        if low <= least and largest <= high:
            return [code, _to_array(code, values)]
    return [_LIST, values]


def _floats(values: list[Any]) -> Packed:
    first = values[0]
    if values.count(first) == len(values):
        return [_ALL, first]
    return ["d", _to_array("d", values)]


def _bools(values: list[Any]) -> Packed:
    first = values[0]
    return [_ALL, first] if values.count(first) == len(values) else ["?", bytes(values)]


def _texts(values: list[Any]) -> Packed:
    return _different(values, dict(zip(values, values, strict=True)), values)


def _blobs(values: list[Any]) -> Packed:
    """Equal ones that are long are found only if they are one object: it takes time to compare."""
    is_short = sum(map(len, values)) <= SHORT * len(values)
    names = values if is_short else list(map(id, values))
    return _different(values, dict(zip(names, values, strict=True)), names)


def _different(values: list[Any], found: dict[Any, Any], names: list[Any]) -> Packed:
    if len(found) == 1:
        return [_ALL, values[0]]
    if 2 * len(found) > len(values):
        return [_LIST, values]
    places = {name: place for place, name in enumerate(found)}
    return [_EACH, list(found.values()), _integers(list(map(places.__getitem__, names)))]


_PACKERS: dict[type, Callable[[list[Any]], Packed]] = {
    int: _integers,
    float: _floats,
    bool: _bools,
    str: _texts,
    bytes: _blobs,
}
KINDS = frozenset(_PACKERS)
"""The types of plain values."""


def _to_array(code: str, values: list[Any]) -> bytes:
    return _little_endian(array(code, values)).tobytes()


def _from_array(code: str, data: bytes) -> list[Any]:
    if code not in (*_INTEGERS, "d"):
        raise ValueError(f"no column is packed in the way {code!r}")
    found: array[Any] = array(code)
    found.frombytes(data)
    return _little_endian(found).tolist()


def _little_endian(numbers: array[Any]) -> array[Any]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
