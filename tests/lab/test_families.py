from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

from rain.lab.bounds import critical_path, inputs_first
from rain.lab.families import FAMILIES, SETS, make
from rain.lab.families.recipes import RECIPES, read_flow
from rain.lab.format import write_graph
from rain.lab.workload import MIB, LabError, Workload

OWN = [name for name in FAMILIES if name not in RECIPES]
COUNTS = {
    "plain1n": 380,
    "plain1cpus": 380,
    "triplets": 330,
    "merge_neighbours": 214,
    "merge_small_big": 240,
    "fork1": 300,
    "fork2": 300,
    "bigmerge": 321,
    "duration_stairs": 380,
    "size_stairs": 191,
    "splitters": 255,
    "conflux": 255,
    "grid": 361,
    "fern": 401,
}


@pytest.mark.parametrize("name", OWN)
def test_the_same_seed_makes_the_same_graph_and_it_can_be_run(name: str) -> None:
    workload = make(name, 1)
    assert write_graph(workload) == write_graph(make(name, 1))
    assert len(inputs_first(workload)) == len(workload.tasks)
    assert all(task.duration >= 0 for task in workload.tasks)


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_the_elementary_graphs_have_their_sizes(name: str, count: int) -> None:
    assert len(make(name, 1).tasks) == count
    assert tuple(COUNTS) == SETS["elementary"]


def test_another_seed_makes_other_durations() -> None:
    assert write_graph(make("fork1", 1)) != write_graph(make("fork1", 2))


def readers(workload: Workload) -> list[list[int]]:
    return [found for found in workload.readers() if found]


def test_what_a_graph_reads_is_what_its_name_says() -> None:
    assert [len(found) for found in readers(make("fork1", 1))] == [2] * 100
    assert [len(found) for found in readers(make("fork2", 1))] == [1] * 200
    assert [len(task.inputs) for task in make("bigmerge", 1).tasks[-2:]] == [0, 320]
    sums = make("transposed", 1).tasks[64:]
    assert [len(task.inputs) for task in sums].count(1) == 8  # those of the diagonal
    assert [len(found) for found in readers(make("svd", 1))[:100]] == [2] * 100
    ring = make("merge_neighbours", 1)
    assert all(len(found) == 2 for found in readers(ring))
    sizes = [made.size for made in make("size_stairs", 1).objects]
    assert sizes == [size * MIB for size in range(190)]
    tree = make("splitters", 1)
    assert {made.size for made in tree.objects} == {512 * MIB, 128 * MIB}
    assert 7 * 20 < critical_path(tree) < 9 * 20


def test_a_graph_takes_parameters() -> None:
    assert len(make("stencil:width=3,steps=4", 1).tasks) == 12
    # every task of the middle reads three, and every row is as wide as the one before
    assert {len(task.inputs) for task in make("stencil:width=5,steps=3", 1).tasks} == {0, 3}
    assert {len(task.inputs) for task in make("fft:depth=3", 1).tasks} == {0, 2}
    assert {len(task.inputs) for task in make("all_to_all:width=4", 1).tasks} == {0, 4}


def file(name: str, size: int) -> SimpleNamespace:
    return SimpleNamespace(file_id=name, size=size)


def test_a_workflow_of_wfcommons_becomes_a_graph() -> None:
    # given: what a generator makes
    flow = SimpleNamespace(
        tasks={
            "b_2": SimpleNamespace(
                category="b",
                runtime=2.5,
                input_files=[file("x", 10), file("given", 99)],
                output_files=[file("y", 20)],
            ),
            "a_1": SimpleNamespace(
                category="a",
                runtime=1.0,
                input_files=[file("given", 99)],
                output_files=[file("x", 10)],
            ),
        }
    )
    # when
    workload = read_flow("montage", flow)
    # then: what all share is left out
    assert workload.ids == ["a_1", "b_2"]
    assert [(task.name, task.duration) for task in workload.tasks] == [("a", 1.0), ("b", 2.5)]
    assert workload.tasks[1].inputs == workload.tasks[0].outputs
    assert [(made.name, made.size) for made in workload.objects] == [("x", 10), ("y", 20)]


def test_without_wfcommons_its_graphs_are_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str, *others: Any) -> Any:
        if name.startswith("wfcommons"):
            raise ModuleNotFoundError("No module named 'wfcommons'")
        return imported(name, *others)

    imported = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(LabError, match=r"needs the package wfcommons .*; install it with pip"):
        make("montage", 1)
