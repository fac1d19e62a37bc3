"""Graphs of typical programs: reductions, trees, stencils, shuffles, joins.

Most consist of `steps` rows of `width` tasks. Each task reads some tasks of the previous row; the
graphs differ in which ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rain.lab.families.drawing import Making
from rain.lab.workload import Workload

SECONDS = 1.0
SPREAD = 0.1
SIZE = 10


def merge(seed: int, count: int = 500) -> Workload:
    """Independent tasks, and one task that reads all of them."""
    making = Making("merge", seed)
    made = [making.output(making.task("part", SECONDS, SPREAD), 1) for _ in range(count)]
    making.output(making.task("merge", SECONDS, SPREAD, *made), 1)
    return making.workload


def merge_slow(seed: int, count: int = 500, seconds: int = 10) -> Workload:
    """Independent tasks of equal, known length, and one task that reads all of them."""
    making = Making("merge_slow", seed)
    made = [making.output(making.task("part", seconds, 0), 0.001) for _ in range(count)]
    making.output(making.task("merge", 1, 0, *made), 0.001)
    return making.workload


def tree(seed: int, depth: int = 9) -> Workload:
    """Pairs are joined until one is left."""
    making = Making("tree", seed)
    level = [
        making.output(making.task("leaf", SECONDS, SPREAD), SIZE) for _ in range(2 ** (depth - 1))
    ]
    while len(level) > 1:
        level = [
            making.output(making.task("add", SECONDS, SPREAD, *pair), SIZE)
            for pair in zip(level[::2], level[1::2], strict=True)
        ]
    return making.workload


def chain(seed: int, length: int = 100) -> Workload:
    """A chain of tasks."""
    making = Making("chain", seed)
    last = making.output(making.task("link", SECONDS, SPREAD), SIZE)
    for _ in range(length - 1):
        last = making.output(making.task("link", SECONDS, SPREAD, last), SIZE)
    return making.workload


def _rows(
    name: str, seed: int, width: int, steps: int, read: Callable[[int, int], Iterable[int]]
) -> Workload:
    """`read(step, column)` returns the tasks of the previous row that a task reads."""
    making = Making(name, seed)
    row = [making.output(making.task("start", SECONDS, SPREAD), SIZE) for _ in range(width)]
    for step in range(1, steps):
        above, row = row, list[int]()
        for column in range(width):
            inputs = [above[i] for i in sorted({i % width for i in read(step, column)})]
            row.append(making.output(making.task("step", SECONDS, SPREAD, *inputs), SIZE))
    return making.workload


def stencil(seed: int, width: int = 40, steps: int = 15) -> Workload:
    """Every task reads the task above it and the two neighbours of that task."""
    return _rows("stencil", seed, width, steps, lambda _, i: (i - 1, i, i + 1))


def nearest(seed: int, width: int = 40, steps: int = 15, reach: int = 5) -> Workload:
    """Every task reads the nearest tasks of the row above."""
    return _rows("nearest", seed, width, steps, lambda _, i: range(i - reach // 2, i + reach // 2))


def spread(seed: int, width: int = 40, steps: int = 15, reach: int = 5) -> Workload:
    """Every task reads tasks that are far apart, and different ones in every row."""
    gap = max(width // reach, 1)
    return _rows(
        "spread", seed, width, steps, lambda step, i: (i + step + k * gap for k in range(reach))
    )


def all_to_all(seed: int, width: int = 20, steps: int = 10) -> Workload:
    """Every task reads the whole row above."""
    return _rows("all_to_all", seed, width, steps, lambda _step, _column: range(width))


def fft(seed: int, depth: int = 6) -> Workload:
    """Butterflies: every step joins tasks twice as far apart as the previous step."""
    width = 2**depth
    return _rows("fft", seed, width, depth + 1, lambda step, i: (i, i ^ (1 << (step - 1))))


def groupby(seed: int, parts: int = 24, groups: int = 24) -> Workload:
    """Every part is split by group, and every group is gathered from all parts."""
    making = Making("groupby", seed)
    pieces: list[list[int]] = []
    for _ in range(parts):
        part = making.output(making.task("read", 4, 0.5), 200)
        split = making.task("split", 2, 0.2, part)
        pieces.append([making.output(split, 200 / groups, 20 / groups) for _ in range(groups)])
    results = [
        making.output(making.task("gather", 3, 0.5, *(piece[group] for piece in pieces)), 20)
        for group in range(groups)
    ]
    making.output(making.task("collect", 2, 0, *results), 10)
    return making.workload


def join(seed: int, left: int = 16, right: int = 8, groups: int = 12) -> Workload:
    """Two tables are split by key and joined per key; the keys are unevenly distributed."""
    making = Making("join", seed)
    shares = [making.draw.random.random() + 0.1 for _ in range(groups)]
    pieces: list[list[int]] = [[] for _ in range(groups)]
    for table, parts, size in (("left", left, 300), ("right", right, 80)):
        for _ in range(parts):
            part = making.output(making.task(f"read {table}", 5, 0.5), size)
            split = making.task(f"split {table}", 2, 0.2, part)
            for group, share in enumerate(shares):
                pieces[group].append(making.output(split, size * share / sum(shares)))
    for group, share in enumerate(shares):
        seconds = 20 * share * groups / sum(shares)
        making.output(making.task("join", seconds, seconds / 10, *pieces[group]), 50)
    return making.workload


def transposed(seed: int, width: int = 8) -> Workload:
    """A matrix in chunks and its transpose are added: each sum reads two chunks far apart."""
    making = Making("transposed", seed)
    chunks = [
        [making.output(making.task("load", SECONDS, SPREAD), SIZE) for _ in range(width)]
        for _ in range(width)
    ]
    for row in range(width):
        for column in range(width):
            read = sorted({chunks[row][column], chunks[column][row]})
            making.output(making.task("add", SECONDS, SPREAD, *read), SIZE)
    return making.workload


def svd(seed: int, count: int = 100) -> Workload:
    """The singular values and vectors of a tall matrix in chunks of rows, whose mean is removed."""
    making = Making("svd", seed)
    chunks = [making.output(making.task("load", SECONDS, SPREAD), 40) for _ in range(count)]
    sums = [making.output(making.task("sum", 0.2, 0.02, chunk), 0.01) for chunk in chunks]
    mean = making.output(making.task("mean", 0.2, 0.02, *sums), 0.01)
    parts: list[int] = []
    triangles: list[int] = []
    for chunk in chunks:
        centred = making.output(making.task("centre", 0.2, 0.02, chunk, mean), 40)
        factors = making.task("qr", 2 * SECONDS, 2 * SPREAD, centred)
        parts.append(making.output(factors, 40))
        triangles.append(making.output(factors, 0.5))
    core = making.task("svd", SECONDS, SPREAD, *triangles)
    for part in parts:
        turned = making.output(core, 0.5)
        making.output(making.task("turn", SECONDS, SPREAD, part, turned), 40)
    return making.workload


SHAPES: dict[str, Callable[..., Workload]] = {
    make.__name__: make
    for make in (
        merge,
        merge_slow,
        tree,
        chain,
        stencil,
        nearest,
        spread,
        all_to_all,
        fft,
        groupby,
        join,
        transposed,
        svd,
    )
}
