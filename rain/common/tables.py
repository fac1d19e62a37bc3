"""What the tasks of a shuffle of Dask's call: tables are split by a column of part numbers, and
items by what they are grouped by.

Dask and pandas are only imported where such a task runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Any

from rain.base.exchange import ListedObject
from rain.common.partitioned import Partitioned
from rain.common.pieces import Pieces


def rows_by_part(table: Any, column: str, parts: Collection[int]) -> Partitioned:
    """The rows of each of these parts; a column has the part of each row."""
    groups = table.groupby(column)
    found = {part: groups.get_group(part) for part in groups.groups if part in parts}
    return Partitioned(found, max(parts) + 1)


def put_together(listed: list[ListedObject], part: int, empty: Any) -> Any:
    """The rows of a part in the order of the tables that they come from."""
    pieces = [*Pieces(listed, part)]
    concat: Any = import_module("dask.dataframe.dispatch").concat
    return concat(pieces) if pieces else empty


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
    """Lists of items by what a function, or what else Dask takes for one, says of each."""
    groupby: Any = import_module("toolz").groupby
    groups: dict[Any, list[Any]] = groupby(grouper, items)
    return groups
