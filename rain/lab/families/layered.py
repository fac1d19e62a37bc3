"""Random graphs in layers: every task reads some outputs of earlier layers."""

from __future__ import annotations

from collections.abc import Callable

from rain.lab.families.drawing import Making
from rain.lab.workload import Workload


def layered(
    seed: int, layers: int = 12, width: int = 32, reads: int = 3, size: int = 20, seconds: int = 10
) -> Workload:
    """Layers of any width up to `width`; durations and sizes vary widely, as in real graphs."""
    making = Making("layered", seed)
    random = making.draw.random
    above: list[int] = []
    for layer in range(layers):
        row: list[int] = []
        for _ in range(random.randint(max(width // 4, 1), width)):
            inputs = random.sample(above, min(random.randint(1, reads), len(above)))
            work = random.choice("abcd")
            mean = seconds * {"a": 0.3, "b": 0.7, "c": 1.0, "d": 2.0}[work]
            task = making.task(f"{work} {layer}", mean, mean / 4, *inputs)
            row.append(making.output(task, size * random.choice((0.1, 0.5, 1, 3)), size / 100))
        above = row
    return making.workload


def sparse(seed: int, layers: int = 12, width: int = 32) -> Workload:
    """Layers with much computation and little data."""
    return layered(seed, layers, width, reads=2, size=2, seconds=20)


def heavy(seed: int, layers: int = 12, width: int = 32) -> Workload:
    """Layers with little computation and much data."""
    return layered(seed, layers, width, reads=4, size=150, seconds=4)


LAYERED: dict[str, Callable[..., Workload]] = {
    "layered": layered,
    "layered_sparse": sparse,
    "layered_heavy": heavy,
}
