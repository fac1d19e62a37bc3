"""The same works as plain tasks of Ray with references to their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from bench.memory import works
from bench.memory.works import Sizes


def _ray() -> Any:
    return import_module("ray")


def _task(function: Callable[..., Any], returns: int = 1) -> Callable[..., Any]:
    remote: Any = _ray().remote(function)
    started: Callable[..., Any] = remote.options(num_returns=returns).remote
    return started


def _total(parts: Sequence[Any]) -> float:
    ray = _ray()
    return float(sum(ray.get(part) for part in parts))


def _both(left: Any, right: Any) -> Any:
    return float((left + right.T).sum())


def transpose(sizes: Sizes) -> float:
    """The sum of a square array and its transpose."""
    count, part = sizes.blocks, sizes.side // sizes.blocks
    make, both = _task(works.block), _task(_both)
    x = [
        [make(row * count + column, (part, part)) for column in range(count)]
        for row in range(count)
    ]
    return _total([both(x[i][j], x[j][i]) for i in range(count) for j in range(count)])


def _cut(part: Any, count: int) -> Any:
    return tuple(np.hsplit(part, count))


def _high(*parts: Any) -> Any:
    return float(works.spread(np.vstack(parts)).sum())


def rechunk(sizes: Sizes) -> float:
    """From parts with whole rows to parts with whole columns."""
    count = sizes.parts
    width = max(sizes.side // count, 1)
    make, cut, high = _task(works.block), _task(_cut, count), _task(_high)
    rows = [cut(make(seed, (width, width * count)), count) for seed in range(count)]
    return _total([high(*column) for column in zip(*rows, strict=True)])


def _by_key(part: Any, count: int) -> Any:
    return _split(part, part["key"].to_numpy() % count, count)


def _by_order(part: Any, count: int) -> Any:
    return _split(part, (part["order"].to_numpy() * count).astype(int), count)


def _split(part: Any, places: Any, count: int) -> Any:
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(count + 1))
    whole = part.iloc[order]
    return tuple(whole.iloc[ends[i] : ends[i + 1]] for i in range(count))


def _concatenated(parts: Sequence[Any]) -> Any:
    pandas: Any = import_module("pandas")
    return pandas.concat(parts, ignore_index=True)


def _shuffled(sizes: Sizes, split: Callable[[Any, int], Any], end: Callable[..., Any]) -> list[Any]:
    count = sizes.parts
    make, cut, last = _task(works.table), _task(split, count), _task(end)
    rows = [cut(make(seed, sizes.rows, sizes.keys), count) for seed in range(count)]
    return [last(*column) for column in zip(*rows, strict=True)]


def _medians(*parts: Any) -> Any:
    return works.median_of_groups(_concatenated(parts))


def groupby(sizes: Sizes) -> float:
    """Medians of groups, for which all rows of a group must meet."""
    return _total(_shuffled(sizes, _by_key, _medians))


def _sorted(*parts: Any) -> Any:
    return works.ordered(_concatenated(parts).sort_values("order"))


def sort(sizes: Sizes) -> float:
    """A table by a column."""
    return _total(_shuffled(sizes, _by_order, _sorted))


def _joined(left: int, *parts: Any) -> Any:
    joined = _concatenated(parts[:left]).merge(_concatenated(parts[left:]), on="key")
    return works.weighted(joined)


def join(sizes: Sizes) -> float:
    """A table and one with a tenth of its rows, by their keys."""
    count, right = sizes.parts, max(sizes.parts // 4, 2)
    make, name, cut = _task(works.table), _task(works.names), _task(_by_key, count)
    rows = [cut(make(seed, sizes.rows, sizes.keys), count) for seed in range(count)]
    others = [cut(name(seed, right, sizes.keys), count) for seed in range(right)]
    last = _task(_joined)
    columns = zip(zip(*rows, strict=True), zip(*others, strict=True), strict=True)
    return _total([last(count, *ours, *theirs) for ours, theirs in columns])


def _sum(left: Any, right: Any) -> Any:
    return left + right


def _number(part: Any) -> float:
    return float(part.sum())


def tree(sizes: Sizes) -> float:
    """Large parts that are added in pairs, until one is left."""
    make, plus = _task(works.block), _task(_sum)
    level = [make(seed, (sizes.part // 8,)) for seed in range(sizes.parts)]
    while len(level) > 1:
        pairs = [plus(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return _total([_task(_number)(level[0])])


WORKS: dict[str, Callable[[Sizes], float]] = {
    "transpose": transpose,
    "groupby": groupby,
    "join": join,
    "sort": sort,
    "rechunk": rechunk,
    "tree": tree,
}
