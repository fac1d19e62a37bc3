"""Columns in messages: numbers that are packed into bytes, and handles of fields.

pycapnp asks for each number of a list with a call of its own, and finds each field by comparing
names; for a message about one task that was more work than everything else. So the numbers of a
table are the bytes of one field, which Python turns into a list in one go, and fields are found
once, when the program starts.
"""

import sys
from array import array
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from rain.rpc.codec.border import Interface, Reader

Field: TypeAlias = Any
"""The handle of a field, for `_get_by_field` and `_has_by_field` of a reader."""

_NATIVE = sys.byteorder == "little"
"""Whether this machine keeps numbers as they travel."""

T = TypeVar("T", int, float)


def fields(structure: Interface, *names: str) -> list[Field]:
    """Handles of the fields with these names."""
    by_name = structure.schema.fields
    return [by_name[name] for name in names]


def write_numbers(column: Sequence[int]) -> bytes:
    """Whole numbers of 64 bits, with a sign."""
    packed = array("q", column)
    return packed.tobytes() if _NATIVE else _turned(packed).tobytes()


def read_numbers(content: bytes) -> list[Any]:
    """The numbers again; whose ids they are is known to the one who reads."""
    packed = array("q", content)
    return packed.tolist() if _NATIVE else _turned(packed).tolist()


def write_counts(column: Sequence[int]) -> bytes:
    """Whole numbers of 32 bits, without a sign."""
    packed = array("I", column)
    return packed.tobytes() if _NATIVE else _turned(packed).tobytes()


def read_counts(content: bytes) -> list[int]:
    packed = array("I", content)
    return packed.tolist() if _NATIVE else _turned(packed).tolist()


def write_seconds(column: Sequence[float]) -> bytes:
    """Floating-point numbers of 64 bits."""
    packed = array("d", column)
    return packed.tobytes() if _NATIVE else _turned(packed).tobytes()


def read_seconds(content: bytes) -> list[float]:
    packed = array("d", content)
    return packed.tolist() if _NATIVE else _turned(packed).tolist()


def _turned(packed: "array[T]") -> "array[T]":
    packed.byteswap()
    return packed


def entries(column: Reader) -> list[Any]:
    """What a list of texts, bytes or structures holds."""
    # The usual iteration ends with an exception, which costs more than a single entry.
    return [column[0]] if len(column) == 1 else list(column)
