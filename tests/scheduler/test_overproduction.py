"""Roots make no more data than is read soon: the most bytes that are held, in the lab.

Without that a wide graph fills every store, since its roots are always ready (D2 of Dask's users:
root tasks are overproduced). What is held is counted in results of one task.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from rain.lab.clusters import make_cluster
from rain.lab.estimates import Estimates, expect
from rain.lab.running import run_guarded
from rain.lab.setup import Setup
from rain.lab.workload import MIB, Workload

SIZE = 50 * MIB
ROOTS = 400  # more than are sent to two cpus while their duration is not known
SIDE = 20


class Graph(Workload):
    """Loads of a fifth of a second, give or take a third, and what reads them."""

    def __init__(self) -> None:
        super().__init__("graph")
        self._random = Random(7)

    def task(self, name: str, inputs: list[int], size: int) -> int:
        """Adds a task, and returns its result."""
        duration = 0.2 * self._random.uniform(0.7, 1.3)
        return self.add_object(size, self.add_task(name, duration, inputs=inputs))

    def loads(self, count: int) -> list[int]:
        return [self.task("load", [], SIZE) for _ in range(count)]

    def total(self, parts: list[int]) -> Workload:
        self.task("total", parts, 8)
        return self


def each_is_read_once() -> Workload:
    graph = Graph()
    return graph.total([graph.task("read", [one], 8) for one in graph.loads(ROOTS)])


def neighbours_are_read_together() -> Workload:
    graph = Graph()
    loads = graph.loads(ROOTS)
    return graph.total([graph.task("read", list(pair), 8) for pair in pairwise(loads)])


def a_matrix_and_its_transpose() -> Workload:
    graph = Graph()
    x = graph.loads(SIDE * SIDE)
    places = [(i * SIDE + j, j * SIDE + i) for i in range(SIDE) for j in range(SIDE)]
    return graph.total([graph.task("read", sorted({x[one], x[two]}), 8) for one, two in places])


def a_tree_of_large_sums() -> Workload:
    graph = Graph()
    level = graph.loads(ROOTS)
    while len(level) > 1:
        level = [graph.task("sum", level[i : i + 2], SIZE) for i in range(0, len(level), 2)]
    return graph.total(level)


GRAPHS: list[tuple[Callable[[], Workload], int]] = [
    (each_is_read_once, 10),
    (neighbours_are_read_together, 12),
    (a_matrix_and_its_transpose, 16),
    (a_tree_of_large_sums, 30),
]


@pytest.mark.parametrize("estimates", [Estimates.NONE, Estimates.EXACT])
@pytest.mark.parametrize(("graph", "most"), GRAPHS)
def test_two_cpus_hold_few_results_of_a_wide_graph(
    graph: Callable[[], Workload], most: int, estimates: Estimates
) -> None:
    workload = graph()
    setup = Setup(workload, make_cluster("1x2", 1024), expect(workload, estimates))
    outcome = run_guarded(setup, "horizon", 60)
    assert outcome.peak_stored / SIZE <= most
