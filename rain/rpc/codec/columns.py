"""Columns in messages: numbers that are packed into bytes, and handles of fields.

pycapnp asks for each number of a list with a call of its own, and finds each field by comparing
names; for a message about one task that was more work than everything else. So the numbers of a
table are the bytes of one field, which Python turns into a list in one go, and fields are found
once, when the program starts.
"""

import sys
from array import array
from collections.abc import Callable, Sequence
from functools import partial
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


def _write(code: str, column: Sequence[T]) -> bytes:
    packed: array[T] = array(code, column)
    if not _NATIVE:
        packed.byteswap()
    return packed.tobytes()


def _read(code: str, content: bytes) -> list[Any]:
    packed: array[Any] = array(code, content)
    if not _NATIVE:
        packed.byteswap()
    return packed.tolist()


write_numbers: Callable[[Sequence[int]], bytes] = partial(_write, "q")
"""Whole numbers of 64 bits, with a sign."""

read_numbers: Callable[[bytes], list[Any]] = partial(_read, "q")
"""The numbers again; whose ids they are is known to the one who reads."""

write_counts: Callable[[Sequence[int]], bytes] = partial(_write, "I")
"""Whole numbers of 32 bits, without a sign."""

read_counts: Callable[[bytes], list[int]] = partial(_read, "I")

write_seconds: Callable[[Sequence[float]], bytes] = partial(_write, "d")
"""Floating-point numbers of 64 bits."""

read_seconds: Callable[[bytes], list[float]] = partial(_read, "d")


def entries(column: Reader) -> list[Any]:
    """What a list of texts, bytes or structures holds."""
    # The usual iteration ends with an exception, which costs more than a single entry.
    return [column[0]] if len(column) == 1 else list(column)
