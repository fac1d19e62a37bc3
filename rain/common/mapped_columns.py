"""Concatenates tables in files, so that they take hardly any memory.

Concatenating tables in memory needs all of them twice for a moment, and functions that read the
result, such as a sort, make another copy. So the rows are appended to unnamed files, one for each
column, which are mapped at the end. Their pages belong to the page cache of the kernel, which
writes them out when memory is short; they do not count as memory of the task. As long as there is
memory nothing is written to a disk, and appending to a file is faster than filling new memory.

`growing_columns` says which columns this works for. Other columns, such as Python objects and
categories, are concatenated in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from rain.common.growing_columns import FILES, Begin, DifferentError, way_of

MOST_FILES = 512
"""Columns that would need more stay in memory: each file is a descriptor for a while."""


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
        self._ways = _ways_into_files(first)
        self._in_files = {at: begin(dtype, files) for at, (begin, dtype) in self._ways.items()}
        self._others = [at for at in range(len(first.columns)) if at not in self._ways]
        self._rest: list[Any] = []  # of each table what files do not hold
        self._attrs = first.attrs
        self._index_type = first.index.dtype
        self._index_names = first.index.names
        way = way_of(first.index.dtype) if first.index.nlevels == 1 else None
        self._index = None if way is None else way(first.index.dtype, files)

    def add(self, table: Any) -> None:
        """Appends its rows."""
        index = table.index
        same = (
            table.columns.equals(self._columns)
            and _ways_into_files(table) == self._ways
            and table.attrs == self._attrs
            and index.names == self._index_names
            and index.dtype == self._index_type
        )
        if not same:
            raise DifferentError
        for at, column in self._in_files.items():
            column.append(table.iloc[:, at].array)
        if self._others or self._index is None:
            rest = table.iloc[:, self._others]
            self._rest.append(rest if self._index is None else rest.reset_index(drop=True))
        if self._index is not None:
            self._index.append(index.array)

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


def _ways_into_files(table: Any) -> dict[int, tuple[Begin, Any]]:
    """How the columns grow that files can hold, and their types, by their places."""
    ways = [(at, (way_of(dtype), dtype)) for at, dtype in enumerate(table.dtypes)]
    growing = [(at, (begin, dtype)) for at, (begin, dtype) in ways if begin is not None]
    return dict(growing[: MOST_FILES // FILES])
