"""Builds columns of tables in unnamed files that grow, and maps them at the end.

A column is a few arrays of plain values, each of which grows in a file of its own:

* numbers, flags and times of numpy: the values,
* times with a time zone: the times in UTC,
* nullable numbers and flags of pandas: the values, and which are missing,
* strings of Arrow in pandas: the bytes, where each string ends, and which are missing; numbers and
  times of Arrow: the values, and which are missing.

Other columns cannot grow like this: Python objects (also strings in columns of type `object`),
categories, periods, and nested types of Arrow.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any, Protocol

import numpy as np

FILES = 3
"""A column has at most this many."""

_PLAIN = "biufcmM"  # kinds of numpy's types
_ENDS = {"string": "i4", "binary": "i4", "large_string": "i8", "large_binary": "i8"}
"""The numbers that say where strings end, by the types of Arrow's."""
MOST_BYTES = {name: int(np.iinfo(number).max) for name, number in _ENDS.items()}
"""How many bytes they can count."""


class DifferentError(Exception):
    """A table cannot be appended: it has other columns or types, or is too large."""


class GrowingColumn(Protocol):
    """The values of one column, which all have the same type."""

    def append(self, values: Any) -> None:
        """More values, as `column.array` has them."""
        ...

    def mapped(self) -> Any:
        """All values, for a table. A change of a value is made in a private copy of its page."""
        ...


Begin = Callable[[Any, ExitStack], GrowingColumn]
"""Begins a column of a type."""


def way_of(dtype: Any) -> Begin | None:
    """The function that begins a column of this type; None if it cannot grow in files."""
    if isinstance(dtype, np.dtype):
        return _Plain if dtype.kind in _PLAIN else None
    pandas: Any = import_module("pandas")
    arrays = pandas.arrays
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return _Zoned
    if isinstance(dtype, pandas.StringDtype):
        return _Strings if dtype.storage == "pyarrow" else None
    if isinstance(dtype, pandas.ArrowDtype):
        return _way_of_arrow(dtype.pyarrow_dtype)
    masked = (arrays.IntegerArray, arrays.FloatingArray, arrays.BooleanArray)
    return _Masked if dtype.construct_array_type() in masked else None


def _way_of_arrow(kind: Any) -> Begin | None:
    if str(kind) in _ENDS:
        return _Strings
    types: Any = import_module("pyarrow").types
    is_plain = types.is_primitive(kind) and not types.is_boolean(kind)  # which are bits
    return _Numbers if is_plain else None


class _Array:
    """Plain values in one file."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        self._dtype = dtype
        self._file = files.enter_context(TemporaryFile(dir=os.curdir, buffering=0))  # noqa: SIM115
        self.size = 0  # in bytes

    def append(self, values: Any) -> None:
        plain: Any = np.ascontiguousarray(values).view(np.uint8)
        left = memoryview(plain)
        self.size += len(left)
        while left:
            left = left[self._file.write(left) :]

    def mapped(self) -> Any:
        if not self.size:
            return np.empty(0, self._dtype)
        whole = mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_COPY)
        return np.frombuffer(whole, self._dtype)


class _Plain(_Array):
    """What numpy has."""


class _Zoned:
    """Times with a time zone."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        self._dtype = dtype
        self._times = _Array("i8", files)

    def append(self, values: Any) -> None:
        self._times.append(values.asi8)

    def mapped(self) -> Any:
        pandas: Any = import_module("pandas")
        return pandas.array(self._times.mapped(), dtype=self._dtype, copy=False)


class _Masked:
    """Numbers and flags of pandas that may be missing."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        self._dtype = dtype
        self._values = _Array(dtype.numpy_dtype, files)
        self._missing = _Array(bool, files)

    def append(self, values: Any) -> None:
        self._values.append(values.to_numpy(self._dtype.numpy_dtype, na_value=0))
        self._missing.append(values.isna())

    def mapped(self) -> Any:
        made: Any = self._dtype.construct_array_type()
        return made(self._values.mapped(), self._missing.mapped())


class _Arrow(ABC):
    """A column in Arrow's memory."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        self._dtype = dtype
        self._kind: Any = None  # the type of Arrow's
        self._rows = 0
        self._missing = _Array(bool, files)
        self._lacks = False  # whether any is missing

    def append(self, values: Any) -> None:
        column = values.__arrow_array__()
        if self._kind is None:
            self._kind = column.type
        elif column.type != self._kind:
            raise DifferentError
        for chunk in getattr(column, "chunks", [column]):
            if len(chunk):
                self._rows += len(chunk)
                self._lacks |= chunk.null_count > 0
                self._missing.append(chunk.is_null().to_numpy(zero_copy_only=False))
                self._append(chunk)

    @abstractmethod
    def _append(self, chunk: Any) -> None:
        """More values of the chunk's rows."""

    @abstractmethod
    def _arrays(self) -> list[Any]:
        """What Arrow reads behind the bits that say what is there."""

    def mapped(self) -> Any:
        pyarrow: Any = import_module("pyarrow")
        there = np.packbits(~self._missing.mapped(), bitorder="little") if self._lacks else None
        arrays = [there, *self._arrays()]
        buffers = [None if one is None else pyarrow.py_buffer(one) for one in arrays]
        whole = pyarrow.Array.from_buffers(self._kind, self._rows, buffers)
        return self._dtype.__from_arrow__(pyarrow.chunked_array([whole]))


class _Numbers(_Arrow):
    """Numbers and times, each of the same number of bytes."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        super().__init__(dtype, files)
        self._values = _Array(np.uint8, files)

    def _append(self, chunk: Any) -> None:
        width = self._kind.bit_width // 8
        begin, end = chunk.offset * width, (chunk.offset + len(chunk)) * width
        self._values.append(np.frombuffer(chunk.buffers()[1], np.uint8)[begin:end])

    def _arrays(self) -> list[Any]:
        return [self._values.mapped()]


class _Strings(_Arrow):
    """Strings or bytes."""

    def __init__(self, dtype: Any, files: ExitStack) -> None:
        super().__init__(dtype, files)
        self._bytes = _Array(np.uint8, files)
        self._ends = _Array(np.uint8, files)  # numbers of a size that the type of Arrow's tells

    def _append(self, chunk: Any) -> None:
        _, ends, data = chunk.buffers()
        number = np.dtype(_ENDS[str(self._kind)])
        bounds = np.frombuffer(ends, number)[chunk.offset : chunk.offset + len(chunk) + 1]
        begin, end, before = int(bounds[0]), int(bounds[-1]), self._bytes.size
        if before + end - begin > MOST_BYTES[str(self._kind)]:
            raise DifferentError
        if not self._ends.size:
            self._ends.append(np.zeros(1, number))
        self._ends.append(bounds[1:] + number.type(before - begin))
        if end > begin:
            self._bytes.append(np.frombuffer(data, np.uint8)[begin:end])

    def _arrays(self) -> list[Any]:
        ends = self._ends.mapped() if self._rows else np.zeros(1, _ENDS[str(self._kind)])
        return [ends, self._bytes.mapped()]
