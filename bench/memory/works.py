"""What is computed: each work in the natural way of Dask's collections, and its right answer.

The answers are sums that do not depend on the order of the parts, so that all systems can be
compared. What makes and joins parts is plain functions, which `ray_works` uses, too.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import isqrt
from operator import add
from typing import Any

import numpy as np
from attrs import frozen

ROW = 32
"""Bytes of a row of a table in memory, with its index."""

KEYS_A_ROW = 0.1
"""Groups of a table for each of its rows."""


@frozen
class Sizes:
    """How much data, and in which parts."""

    total: int  # bytes
    part: int  # bytes

    @property
    def parts(self) -> int:
        """How many parts a table or a row of blocks has."""
        return max(self.total // self.part, 2)

    @property
    def blocks(self) -> int:
        """Blocks along one side of a square array."""
        return max(isqrt(self.parts), 2)

    @property
    def side(self) -> int:
        """Numbers along one side of a square array."""
        return isqrt(self.total // 8) // self.blocks * self.blocks

    @property
    def rows(self) -> int:
        """Rows of one part of a table."""
        return self.part // ROW

    @property
    def keys(self) -> int:
        """How many different keys a table has."""
        return int(self.rows * self.parts * KEYS_A_ROW) or 1


def block(seed: int, shape: tuple[int, ...]) -> Any:
    """A part of an array."""
    return np.random.default_rng(seed).random(shape)


def table(seed: int, rows: int, keys: int) -> Any:
    """A part of a table: a key, a number to sort by, and a value."""
    pandas: Any = import_module("pandas")
    random = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "key": random.integers(0, keys, rows),
            "order": random.random(rows),
            "value": random.random(rows),
        }
    )


def names(seed: int, parts: int, keys: int) -> Any:
    """A part of a table in which each key is once."""
    pandas: Any = import_module("pandas")
    own = np.arange(seed, keys, parts)
    return pandas.DataFrame({"key": own, "weight": (own % 7).astype(float)})


def median_of_groups(part: Any) -> Any:
    """The sum of the medians of all groups of a part that has whole groups."""
    return float(part.groupby("key")["value"].median().sum())


def weighted(part: Any) -> Any:
    """A joined part as one number."""
    return float((part["value"] * part["weight"]).sum())


def ordered(part: Any) -> Any:
    """A sorted part as one number, which is off if it is not sorted."""
    if not part["order"].is_monotonic_increasing:
        return float("nan")
    return float(part["value"].sum())


def spread(part: Any) -> Any:
    """The spread of each column of a part with whole columns."""
    return (part.max(axis=0) - part.min(axis=0))[None, :]


# In Dask's collections.


def _array(shape: tuple[int, int], blocks: tuple[int, int]) -> Any:
    da: Any = import_module("dask.array")
    dask: Any = import_module("dask")
    part = (shape[0] // blocks[0], shape[1] // blocks[1])
    one = dask.delayed(block)
    rows = [
        [
            da.from_delayed(one(row * blocks[1] + column, part), part, float)
            for column in range(blocks[1])
        ]
        for row in range(blocks[0])
    ]
    return da.block(rows)


def _table(sizes: Sizes) -> Any:
    dd: Any = import_module("dask.dataframe")
    meta = table(0, 1, 1)
    return dd.from_map(
        table,
        range(sizes.parts),
        rows=sizes.rows,
        keys=sizes.keys,
        meta=meta,
        enforce_metadata=False,
    )


def transpose(sizes: Sizes) -> float:
    """The sum of a square array and its transpose."""
    x = _array((sizes.side, sizes.side), (sizes.blocks, sizes.blocks))
    return float((x + x.T).sum().compute())


def rechunk(sizes: Sizes) -> float:
    """From parts with whole rows to parts with whole columns."""
    parts = sizes.parts
    side = max(sizes.side // parts, 1) * parts
    x = _array((side, side), (parts, 1)).rechunk((side, side // parts))
    return float(x.map_blocks(spread, chunks=(1, side // parts), dtype=float).sum().compute())


def groupby(sizes: Sizes) -> float:
    """Medians of groups, for which all rows of a group must meet."""
    shuffled = _table(sizes).shuffle("key")
    return float(shuffled.map_partitions(median_of_groups, meta=("sum", float)).sum().compute())


def join(sizes: Sizes) -> float:
    """A table and one with a tenth of its rows, by their keys."""
    dd: Any = import_module("dask.dataframe")
    parts = max(sizes.parts // 4, 2)
    right = dd.from_map(
        names,
        range(parts),
        parts=parts,
        keys=sizes.keys,
        meta=names(0, 1, 1),
        enforce_metadata=False,
    )
    joined = _table(sizes).merge(right, on="key")
    return float(joined.map_partitions(weighted, meta=("sum", float)).sum().compute())


def sort(sizes: Sizes) -> float:
    """A table by a column."""
    by_order = _table(sizes).sort_values("order")
    return float(by_order.map_partitions(ordered, meta=("sum", float)).sum().compute())


def tree(sizes: Sizes) -> float:
    """Large parts that are added in pairs, until one is left."""
    dask: Any = import_module("dask")
    plus, one = dask.delayed(add), dask.delayed(block)
    level = [one(seed, (sizes.part // 8,)) for seed in range(sizes.parts)]
    while len(level) > 1:
        pairs = [plus(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return float(level[0].sum().compute())


WORKS: dict[str, Callable[[Sizes], float]] = {
    "transpose": transpose,
    "groupby": groupby,
    "join": join,
    "sort": sort,
    "rechunk": rechunk,
    "tree": tree,
}


# The right answers, part by part and in no order.


def _all_tables(sizes: Sizes) -> Any:
    return (table(seed, sizes.rows, sizes.keys) for seed in range(sizes.parts))


def expected(name: str, sizes: Sizes) -> float | None:
    """What a sum must be, where it can be known in little memory."""
    match name:
        case "transpose":
            part = sizes.side // sizes.blocks
            return 2 * sum(float(block(i, (part, part)).sum()) for i in range(sizes.blocks**2))
        case "tree":
            parts = (block(seed, (sizes.part // 8,)) for seed in range(sizes.parts))
            return sum(float(part.sum()) for part in parts)
        case "sort":
            return sum(float(part["value"].sum()) for part in _all_tables(sizes))
        case "join":
            return sum(
                float((part["value"] * (part["key"] % 7)).sum()) for part in _all_tables(sizes)
            )
        case _:
            return None
