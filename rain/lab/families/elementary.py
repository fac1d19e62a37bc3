"""The elementary graphs: each has exactly one scheduling difficulty.

Durations are normally distributed and above 0; sizes are in MiB. The user's expectation of a number
is the mean of its distribution.
"""

from __future__ import annotations

from collections.abc import Callable

from rain.lab.families.drawing import Making
from rain.lab.workload import Workload

STEPS = (10, 20, 60, 180)


def plain1n(seed: int, count: int = 380) -> Workload:
    """Independent tasks of very different lengths."""
    making = Making("plain1n", seed)
    for _ in range(count):
        mean = making.draw.random.choice(STEPS)
        making.task(f"work {mean}", mean, mean / 10)
    return making.workload


def plain1cpus(seed: int, count: int = 380) -> Workload:
    """Independent tasks of very different lengths that need one to three cpus."""
    making = Making("plain1cpus", seed)
    for _ in range(count):
        mean = making.draw.random.choice(STEPS)
        cpus = making.draw.random.randint(1, 3)
        making.task(f"work {mean} on {cpus}", mean, mean / 10, cpus=cpus)
    return making.workload


def triplets(seed: int, count: int = 110) -> Workload:
    """Short chains whose middle needs four cpus."""
    making = Making("triplets", seed)
    for _ in range(count):
        first = making.output(making.task("a", 5, 1.5), 40)
        second = making.output(making.task("b", 120, 20, first, cpus=4), 120)
        making.task("c", 32, 3, second)
    return making.workload


def merge_neighbours(seed: int, count: int = 107) -> Workload:
    """A ring: every merge reads two neighbours."""
    making = Making("merge_neighbours", seed)
    made = [making.output(making.task("a", 15, 3), 99, 2.5) for _ in range(count)]
    for i in range(count):
        making.task("b", 15, 2, made[i], made[(i + 1) % count])
    return making.workload


def merge_small_big(seed: int, count: int = 80) -> Workload:
    """Every merge reads one small and one large object."""
    making = Making("merge_small_big", seed)
    for _ in range(count):
        small = making.output(making.task("a", 10, 1), 0.5)
        big = making.output(making.task("b", 10, 1), 100)
        making.task("c", 10, 1, small, big)
    return making.workload


def fork1(seed: int, count: int = 100) -> Workload:
    """One output is read twice."""
    making = Making("fork1", seed)
    for _ in range(count):
        made = making.output(making.task("a", 17, 3), 100)
        for _ in range(2):
            making.task("b", 15, 2, made)
    return making.workload


def fork2(seed: int, count: int = 100) -> Workload:
    """Two outputs are read once each."""
    making = Making("fork2", seed)
    for _ in range(count):
        task = making.task("a", 17, 3)
        for made in [making.output(task, 100), making.output(task, 100)]:
            making.task("b", 15, 2, made)
    return making.workload


def bigmerge(seed: int, count: int = 320) -> Workload:
    """One task reads the outputs of all others."""
    making = Making("bigmerge", seed)
    made = [making.output(making.task("a", 17, 3), 100) for _ in range(count)]
    making.task("merge", 40, 0, *made)
    return making.workload


def duration_stairs(seed: int, count: int = 190) -> Workload:
    """Two tasks for every whole number of seconds."""
    making = Making("duration_stairs", seed)
    for seconds in range(count):
        for _ in range(2):
            making.task(f"step {seconds}", seconds, 0)
    return making.workload


def size_stairs(seed: int, count: int = 190) -> Workload:
    """One task makes an output of every whole number of MiB, each read by a separate task."""
    making = Making("size_stairs", seed)
    task = making.task("a", 17, 0)
    for made in [making.output(task, size) for size in range(count)]:
        making.task("b", 20, 0, made)
    return making.workload


def splitters(seed: int, depth: int = 7) -> Workload:
    """A binary tree that starts with one task."""
    making = Making("splitters", seed)
    level = [making.output(making.task("split", 20, 1), 512)]
    for _ in range(depth):
        level = [
            making.output(making.task("split", 20, 1, made), 128) for made in level for _ in "lr"
        ]
    return making.workload


def conflux(seed: int, depth: int = 7) -> Workload:
    """A binary tree that ends in one task."""
    making = Making("conflux", seed)
    level = [making.output(making.task("join", 20, 1.5), 128) for _ in range(2**depth)]
    while len(level) > 1:
        level = [
            making.output(making.task("join", 20, 1.5, *pair), 128)
            for pair in zip(level[::2], level[1::2], strict=True)
        ]
    return making.workload


def grid(seed: int, width: int = 19) -> Workload:
    """Every task reads its left and its upper neighbour."""
    making = Making("grid", seed)
    above: list[int] = []
    for _ in range(width):
        row: list[int] = []
        for column in range(width):
            inputs = [*row[-1:], *above[column : column + 1]]
            row.append(making.output(making.task("cell", 20, 1, *inputs), 128))
        above = row
    return making.workload


def fern(seed: int, count: int = 200) -> Workload:
    """A chain in which each task also reads a separate task."""
    making = Making("fern", seed)
    last = making.output(making.task("a", 20, 1), 100)
    for _ in range(count):
        leaf = making.output(making.task("b", 20, 1), 100)
        last = making.output(making.task("a", 20, 1, last, leaf), 100)
    return making.workload


ELEMENTARY: dict[str, Callable[..., Workload]] = {
    make.__name__: make
    for make in (
        plain1n,
        plain1cpus,
        triplets,
        merge_neighbours,
        merge_small_big,
        fork1,
        fork2,
        bigmerge,
        duration_stairs,
        size_stairs,
        splitters,
        conflux,
        grid,
        fern,
    )
}
