"""Tables that are put together in files, so that they take hardly any memory.

To put tables together is to have all of them twice for a moment, and the functions that read the
result, such as a sort, make a copy of their own. So the rows are appended to files without names,
one for each column, which are mapped in the end. Their pages are a cache of the kernel's, which it
writes out and drops when memory is short: they are no memory of the task. While there is memory
nothing is written to a disk, and appending to a file is faster than filling new memory.

Only columns of plain numbers and times are kept so. What else a table has, such as strings, is put
together in memory.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module
from tempfile import TemporaryFile
from typing import Any

import numpy as np

MOST_COLUMNS = 256
"""More columns stay in memory: each of these holds a descriptor."""

_PLAIN = "biufcmM"  # kinds of numpy's types


class DifferentError(Exception):
    """A table cannot follow those before it: it has other columns, or of other types."""


class _Column:
    """An array that grows in a file."""

    def __init__(self, dtype: np.dtype[Any], files: ExitStack) -> None:
        self._dtype = dtype
        self._file = files.enter_context(TemporaryFile(dir=os.curdir, buffering=0))  # noqa: SIM115
        self._size = 0

    def append(self, values: Any) -> None:
        plain: Any = np.ascontiguousarray(values).view(np.uint8)
        left = memoryview(plain)
        self._size += len(left)
        while left:
            left = left[self._file.write(left) :]

    def mapped(self) -> Any:
        """All of it; what changes it changes a copy of that page."""
        if not self._size:
            return np.empty(0, self._dtype)
        whole = mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_COPY)
        return np.frombuffer(whole, self._dtype)


def put_together_in_files(
    tables: Iterable[Any], concat: Callable[[Sequence[Any]], Any], files: ExitStack
) -> Any:
    """The rows of all these data frames of pandas, of which each is let go before the next.

    What files cannot hold is put together by `concat`, which takes a list of tables.

    Raises:
        DifferentError: if the tables differ, or are of another kind.
        OSError: if files cannot be made or written here.
    """
    waiting = iter(tables)
    first = next(waiting)
    growing = _Growing(first, files)
    growing.add(first)
    del first
    for table in waiting:
        growing.add(table)
    return growing.table(concat)


class _Growing:
    """A table that grows."""

    def __init__(self, first: Any, files: ExitStack) -> None:
        if type(first).__module__.partition(".")[0] != "pandas" or first.ndim != 2:
            raise DifferentError
        self._columns = first.columns
        self._plain = _plain_types(first)
        self._in_files = {at: _Column(dtype, files) for at, dtype in self._plain.items()}
        self._others = [at for at in range(len(first.columns)) if at not in self._plain]
        self._rest: list[Any] = []  # of each table what files do not hold
        self._attrs = first.attrs
        self._index_type = first.index.dtype
        self._index_names = first.index.names
        self._index = _Column(first.index.dtype, files) if _has_plain_index(first) else None

    def add(self, table: Any) -> None:
        """Appends its rows."""
        index = table.index
        same = (
            table.columns.equals(self._columns)
            and _plain_types(table) == self._plain
            and table.attrs == self._attrs
            and index.names == self._index_names
            and index.dtype == self._index_type
            and _has_plain_index(table) == (self._index is not None)
        )
        if not same:
            raise DifferentError
        for at, column in self._in_files.items():
            column.append(table.iloc[:, at].to_numpy())
        if self._index is not None:
            self._index.append(index.to_numpy())
        if self._others or self._index is None:
            self._rest.append(table.iloc[:, self._others])

    def table(self, concat: Callable[[Sequence[Any]], Any]) -> Any:
        """All rows."""
        pandas: Any = import_module("pandas")
        rest: Any = concat(self._rest) if self._rest else None
        if self._index is None:
            index = rest.index
        else:
            index = pandas.Index(self._index.mapped(), name=self._index_names[0], copy=False)
        columns = {at: column.mapped() for at, column in self._in_files.items()}
        made = pandas.DataFrame(columns, index=index, copy=False)
        if self._others:
            rest.index = index
            rest.columns = self._others
            both = pandas.concat([made, rest], axis=1)
            made = both[[*range(len(self._columns))]]
        made.columns = self._columns
        made.attrs = dict(self._attrs)
        return made


def _plain_types(table: Any) -> dict[int, np.dtype[Any]]:
    """The types of the columns that files can hold, by their places."""
    types = enumerate(table.dtypes)
    return dict([(at, one) for at, one in types if _is_plain(one)][:MOST_COLUMNS])


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in _PLAIN


def _has_plain_index(table: Any) -> bool:
    return table.index.nlevels == 1 and _is_plain(table.index.dtype)
