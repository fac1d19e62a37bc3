"""Columns in messages: numbers that are packed into bytes, and tables that are cut out of them.

pycapnp asks for each number of a list with a call of its own, and finds each field by comparing
names; for a message about one task that was more work than everything else. So all numbers of a
hot message are the bytes of one field, which Python turns into a list in one go: first how long
each column is, then the columns. Their bytes follow each other in a second field, and a column has
the length of each.
"""

import sys
from array import array
from collections.abc import Sequence
from io import BytesIO
from itertools import count
from struct import Struct
from typing import Any, TypeAlias, TypeVar

from rain.base.errors import ProtocolError
from rain.rpc.codec.border import Interface, Reader

Field: TypeAlias = Any
"""The handle of a field, for `_get_by_field` and `_has_by_field` of a reader."""

Numbers: TypeAlias = "array[Any]"
"""Numbers as they came. A list of them takes five times the memory, for each is an object then."""

Cut = TypeVar("Cut", "list[Any]", Numbers)

_NATIVE = sys.byteorder == "little"
"""Whether this machine keeps numbers as they travel."""


def fields(structure: Interface, *names: str) -> list[Field]:
    """Handles of the fields with these names."""
    by_name = structure.schema.fields
    return [by_name[name] for name in names]


def write_numbers(column: Sequence[int]) -> bytes:
    """Whole numbers of 64 bits, with a sign."""
    # Python would keep a hundred of these, one for each length. `array` takes a third longer.
    return Struct(f"<{len(column)}q").pack(*column)


def read_numbers(content: bytes) -> Numbers:
    """The numbers again; whose ids they are is known to the one who reads."""
    packed = array("q", content)
    if not _NATIVE:
        packed.byteswap()
    return packed


SECOND = 8
"""How many bytes a floating-point number takes."""


def write_seconds(column: Sequence[float]) -> bytes:
    """Floating-point numbers of 64 bits."""
    return Struct(f"<{len(column)}d").pack(*column)


def read_seconds(content: bytes) -> list[float]:
    """The same again."""
    packed = array("d", content)
    if not _NATIVE:
        packed.byteswap()
    return packed.tolist()


def no_lengths(what: str) -> ProtocolError:
    return ProtocolError(f"{what}: it does not say how long its columns are")


def cut_columns(what: str, numbers: Cut, start: int, lengths: Sequence[int]) -> list[Cut]:
    """The columns of these lengths, which are all that the numbers hold from `start` on."""
    columns: list[Cut] = []
    for length in lengths:
        end = start + length
        columns.append(numbers[start:end])
        start = end
    if start != len(numbers) or min(lengths) < 0:
        raise ProtocolError(f"{what}: the columns have other lengths than it says")
    return columns


def cut_bytes(
    what: str, content: bytes, start: int, end: int, lengths: Sequence[int]
) -> list[bytes]:
    """The pieces of these lengths, which are all that lies between `start` and `end`."""
    if sum(lengths) != end - start or (lengths and min(lengths) < 0):
        raise ProtocolError(f"{what}: the data has another length than it says")
    if len(lengths) == 1:
        return [content[start:end]]
    stream = BytesIO(content)  # which cuts without a step of Python's for each piece
    stream.seek(start)
    return list(map(stream.read, lengths))


def entries(column: Reader) -> list[Any]:
    """What a list of texts, bytes or structures holds."""
    # The usual iteration ends with an exception, which costs more than a single entry.
    return [column[0]] if len(column) == 1 else list(column)


def short(column: list[Any]) -> list[Any]:
    """A column as it is told: one entry stands for all, if they are the same."""
    if len(column) > 1 and column[0] == column[-1] and column.count(column[0]) == len(column):
        return column[:1]
    return column


def lengthened(what: str, column: list[Any], rows: int) -> list[Any]:
    """A column as long as it is meant to be; it may be told by one entry that stands for all."""
    if len(column) == rows:
        return column
    if len(column) != 1:
        raise ProtocolError(f"{what}: a column does not fit to its rows")
    return column * rows


def number_texts(*columns: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """These columns as numbers of texts, and the texts that have them, from 1 on.

    Many rows have the same text, and most columns none at all: such a one is left out.
    """
    named = {"": None}
    told = [column if any(column) else () for column in columns]
    for column in told:
        named.update(dict.fromkeys(column))
    if len(named) == 1:
        return [[] for _ in columns], []
    numbers = dict(zip(named, count()))
    return [[*map(numbers.__getitem__, column)] for column in told], [*named][1:]


def look_up(what: str, numbers: list[int], texts: Sequence[str], rows: int) -> list[str]:
    """The texts with these numbers, one for each row; without numbers all are empty."""
    if not numbers:
        return [""] * rows
    if len(numbers) != rows or min(numbers) < 0 or max(numbers) > len(texts):
        raise ProtocolError(f"{what}: a column of texts does not fit to its rows or its texts")
    return [*map(["", *texts].__getitem__, numbers)]
