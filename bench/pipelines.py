"""Realistic pipelines: arrays, tables and bags that are split into parts.

All numbers are integers, so that every pipeline has one exact answer.
"""

from collections.abc import Sequence

from bench.functions import Function
from bench.shapes import Call, Layer, Shape

FAN_IN = 8  # how many parts are merged at a time


class _Drawing:
    """Collects layers and numbers their calls."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.count = 0

    def layer(self, function: Function, calls: Sequence[Call]) -> list[int]:
        self.layers.append(Layer(function, tuple(calls)))
        first, self.count = self.count, self.count + len(calls)
        return list(range(first, self.count))

    def reduced(self, function: Function, parts: list[int]) -> int:
        """Merges parts, a few at a time, until there is one."""
        while len(parts) > 1:
            groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            parts = self.layer(function, [Call(needs=tuple(group)) for group in groups])
        return parts[0]

    def shape(self, name: str, result: int, answer: int) -> Shape:
        return Shape(name, tuple(self.layers), (result,), (answer,))


def transpose_sum(blocks: int, size: int) -> Shape:
    """The sum of a square array and its transpose, in blocks x blocks blocks."""
    drawing = _Drawing()
    cells = blocks * blocks
    made = drawing.layer(
        Function.BLOCK, [Call(numbers=(i * size * size, size)) for i in range(cells)]
    )
    sums = drawing.layer(
        Function.ADD_TRANSPOSED,
        [
            Call(needs=(made[row * blocks + column], made[column * blocks + row]))
            for row in range(blocks)
            for column in range(blocks)
        ],
    )
    parts = drawing.layer(Function.SUM_OF, [Call(needs=(one,)) for one in sums])
    count = cells * size * size
    return drawing.shape(
        "transpose sum", drawing.reduced(Function.TOTAL, parts), count * (count - 1)
    )


def groupby(parts: int, rows: int, keys: int = 100) -> Shape:
    """The sums of a table's values by key: first in each part, then over all parts."""
    drawing = _Drawing()
    tables = drawing.layer(Function.TABLE, [Call((i * rows, rows, keys)) for i in range(parts)])
    sums = drawing.layer(Function.GROUP_SUMS, [Call((keys,), (one,)) for one in tables])
    merged = drawing.reduced(Function.SUM_ARRAYS, sums)
    (whole,) = drawing.layer(Function.SUM_OF, [Call(needs=(merged,))])
    count = parts * rows
    return drawing.shape("groupby", whole, count * (count - 1) // 2)


def join(parts: int, rows: int) -> Shape:
    """Two tables are shuffled by value and matched part by part."""
    drawing = _Drawing()
    made = [
        drawing.layer(Function.TABLE, [Call((i * rows, rows, 100)) for i in range(parts)])
        for _ in ("left", "right")
    ]
    shuffled = drawing.layer(
        Function.PART,
        [Call((parts, i), (one,)) for tables in made for one in tables for i in range(parts)],
    )
    matches = drawing.layer(
        Function.COUNT_MATCHES, [Call((parts,), tuple(shuffled[i::parts])) for i in range(parts)]
    )
    return drawing.shape("join", drawing.reduced(Function.TOTAL, matches), parts * rows)


def bag(parts: int, count: int, distinct: int = 50) -> Shape:
    """Words are counted in each part, and the counts are merged."""
    drawing = _Drawing()
    texts = drawing.layer(
        Function.WORDS, [Call((i * count, count, distinct)) for i in range(parts)]
    )
    counted = drawing.layer(Function.FREQUENCIES, [Call(needs=(one,)) for one in texts])
    merged = drawing.reduced(Function.MERGE_FREQUENCIES, counted)
    (whole,) = drawing.layer(Function.COUNT_ALL, [Call(needs=(merged,))])
    return drawing.shape("bag", whole, parts * count)


def pipelines(parts: int) -> tuple[Shape, ...]:
    """All pipelines, with parts that fit into a cache."""
    return (
        transpose_sum(max(2, round(parts**0.5)), 128),
        groupby(parts, 20_000),
        join(max(2, round(parts**0.5)), 20_000),
        bag(parts, 10_000),
    )
