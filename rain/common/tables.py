"""Functions for the tasks of Dask's shuffles: they split tables by a column of part numbers, and
items by their groups.

Dask and pandas are only imported where such a task runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from rain.base.exchange import ListedObject
from rain.common.growing_columns import DifferentError
from rain.common.mapped_columns import put_together_in_files
from rain.common.partitioned import Partitioned
from rain.common.pickles import load
from rain.common.pieces import Pieces

AT_ONCE = 4 * 1024 * 1024
"""Bytes of pieces that are put together in memory."""

ROWS_AT_ONCE = 32 * 1024
"""Rows whose parts are computed together."""


def rows_by_part(table: Any, column: str, parts: Collection[int]) -> Partitioned:
    """The rows of each of these parts; a column has the part of each row.

    The rows of a large table are taken one part after the other while they are written. So the
    table is in memory only once, whatever its columns are.
    """
    size = _size(table)
    if size < AT_ONCE:
        groups = table.groupby(column)
        found = {part: groups.get_group(part) for part in groups.groups if part in parts}
        return Partitioned(found, max(parts) + 1)
    return Partitioned.made_one_by_one(_RowsOfParts(table, column, parts), max(parts) + 1, size)


class _RowsOfParts(Mapping[int, Any]):
    """Takes the rows of a part out of a table, by its number. Parts without rows are left out.

    The column that has the same number in all rows of a piece is not written with it.
    """

    def __init__(self, table: Any, column: str, parts: Collection[int]) -> None:
        places = table[column].to_numpy()
        self._dtype = places.dtype
        self._name = column
        self._at = _place_of_numbers(table, column)
        self._table = table if self._at is None else table.drop(columns=column)
        few = narrow(places, max(parts))
        self._order = np.argsort(few, kind="stable")
        in_order = few[self._order]
        numbers = np.array([*parts], in_order.dtype)
        begins = np.searchsorted(in_order, numbers, "left")
        ends = np.searchsorted(in_order, numbers, "right")
        bounds = zip(parts, begins, ends, strict=True)
        self._bounds = {part: (begin, end) for part, begin, end in bounds if end > begin}

    def __getitem__(self, part: int) -> Any:
        begin, end = self._bounds[part]
        rows = self._table.take(self._order[begin:end])
        if self._at is None:
            return rows
        return RowsOfPart(rows, self._at, self._name, self._dtype.type(part))

    def __iter__(self) -> Iterator[int]:
        return iter(self._bounds)

    def __len__(self) -> int:
        return len(self._bounds)


def _place_of_numbers(table: Any, column: str) -> int | None:
    """The place of a column of plain integers; None for others."""
    place = table.columns.get_loc(column)
    dtype = table.dtypes.iloc[place] if isinstance(place, int) else None
    return place if isinstance(dtype, np.dtype) and dtype.kind in "iu" else None


class RowsOfPart:
    """Rows that get a column with the same value in each when they are loaded."""

    def __init__(self, rows: Any, at: int, name: str, value: Any) -> None:
        self._given = rows, at, name, value

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return with_column, self._given


def with_column(rows: Any, at: int, name: str, value: Any) -> Any:
    """These rows with the column; in pickles of split tables."""
    rows.insert(at, name, np.full(len(rows), value))
    return rows


def narrow(places: Any, most: int) -> Any:
    """The numbers of parts, of up to 16 bits if all have no more: numpy sorts these with a radix
    sort.

    Args:
        places: one for each row.
        most: another number that must fit.
    """
    if places.dtype.kind not in "iu" or not len(places):
        return places
    if places.min() < 0 or max(places.max(), most) > np.iinfo(np.uint16).max:
        return places
    return places.astype(np.uint16)


def concatenated(concat: Callable[..., Any], tables: Sequence[Any], *ignore_index: bool) -> Any:
    """What `concat` makes of tables, of which Dask leaves out empty ones; large ones in files.

    Rows keep their index, whether or not it may be ignored.
    """
    if not all(hasattr(table, "memory_usage") for table in tables):  # also for values and arrays
        return concat(tables, *ignore_index)
    filled = [table for table in tables if len(table)]
    if len(filled) < 2 or sum(map(_size, filled)) < AT_ONCE:
        return concat(tables, *ignore_index)
    try:
        with ExitStack() as files:
            return put_together_in_files(filled, concat, files)
    except (DifferentError, OSError):  # an odd table, or no room for files
        return concat(tables, *ignore_index)


def with_part_numbers(
    assign: Callable[..., Any], table: Any, by: Any, name: str, *others: Any
) -> Any:
    """What Dask's function makes of a table: the same with a column of part numbers.

    Each number depends on its row alone, so the function is called for some rows at a time.

    Args:
        by: the rows of a table, a column or an index, or how columns are called.
    """
    if len(table) <= ROWS_AT_ONCE:
        return assign(table, by, name, *others)
    numbers: list[Any] = []
    for begin in range(0, len(table), ROWS_AT_ONCE):
        rows = slice(begin, begin + ROWS_AT_ONCE)
        labels = _some(by, rows) if hasattr(by, "ndim") else by
        numbers.append(assign(_some(table, rows), labels, name, *others)[name].to_numpy())
    whole = table.to_frame() if table.ndim == 1 else table
    return whole.assign(**{name: np.concatenate(numbers)})


def _some(rows: Any, which: slice) -> Any:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def _size(table: Any) -> int:
    """Its bytes without those of its objects; Dask gives series to the same function."""
    return int(np.sum(table.memory_usage()))


def put_together(listed: list[ListedObject], part: int, empty: Any) -> Any:
    """The rows of a part in the order of the tables that they come from.

    What is larger than `AT_ONCE` is put together in files, and takes hardly any memory.
    """
    concat: Any = import_module("dask.dataframe.dispatch").concat
    groups = _together(Pieces(listed, part))
    first = next(groups, None)
    if first is None:
        return empty
    second = next(groups, None)
    if second is None:
        return concat(first)
    try:
        with ExitStack() as files:
            tables = map(concat, chain([first, second], groups))
            del first, second
            return put_together_in_files(tables, concat, files)
    except (DifferentError, OSError):  # an odd table, or no room for files
        return concat([*Pieces(listed, part)])


def _together(pieces: Pieces) -> Iterator[list[Any]]:
    """The tables in groups of about `AT_ONCE` bytes."""
    group: list[Any] = []
    size = 0
    for piece in pieces.written:
        if piece is None:
            continue
        group.append(load(piece))
        size += len(piece)
        if size >= AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def items_by_part(
    items: Iterable[Any], grouper: Any, count: int, parts: Collection[int]
) -> Partitioned:
    """The items of those of `count` parts that are read; all items of a group are in one part."""
    tokenize: Any = import_module("dask.base").tokenize
    found: dict[int, list[Any]] = defaultdict(list)
    for group, members in _grouped(grouper, items).items():
        part = int(tokenize(group), 16) % count  # as Dask places it
        if part in parts:
            found[part] += members
    return Partitioned(found, max(parts) + 1)


def groups_of(listed: list[ListedObject], part: int, grouper: Any) -> list[tuple[Any, list[Any]]]:
    """The groups of a part with their items, in the order of the bags that they come from."""
    items = (item for piece in Pieces(listed, part) for item in piece)
    return list(_grouped(grouper, items).items())


def _grouped(grouper: Any, items: Iterable[Any]) -> dict[Any, list[Any]]:
    """Lists of items, grouped by the value of a function, or of something else that Dask accepts as
    one.
    """
    groupby: Any = import_module("toolz").groupby
    groups: dict[Any, list[Any]] = groupby(grouper, items)
    return groups
