"""Tables that are split by a column of part numbers: what the tasks of a table's shuffle call."""

from __future__ import annotations

from collections.abc import Collection
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
