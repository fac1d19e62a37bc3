"""Which nodes of Dask's arrays are surely small, without a cluster."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client.for_dask.cheap_functions import is_cheap
from rain.client.for_dask.graphs import chains, kind_of, needed_nodes, notes_of, ordered
from rain.client.for_dask.groups import grouped
from rain.client.for_dask.small_nodes import SMALL, chunk_bytes, small_works
from tests.adapters.test_dask_rechunks import graph_of

da: Any = import_module("dask.array")
task_spec: Any = import_module("dask._task_spec")

COUNT = 16
"""Chunks of each array."""


def numbers(chunk: int = 10) -> Any:
    return da.arange(COUNT * chunk, chunks=chunk, dtype=float)


def small_kinds(*arrays: Any) -> set[str]:
    """The kinds of the nodes that are small, as Dask names them."""
    graph, wanted = graph_of(*arrays)
    linked = chains(ordered(needed_nodes(graph, wanted)), wanted)
    return {kind_of(key) for key in small_works(linked, chunk_bytes(notes_of(graph)))}


def nothing(block: Any) -> Any:
    return block


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x * 2 + 1,
        lambda x: da.sqrt(x).astype("f4").clip(1, 5),
        lambda x: x.sum(keepdims=True),
        lambda x: x.cumsum(axis=0),
        lambda x: da.where(x > 3, x, 0).var(),
        lambda x: da.roll(da.concatenate([x, x]), 3),
        lambda x: da.histogram(x, bins=3, range=(0, 1))[0],
        lambda x: da.random.default_rng(1).random(160, chunks=10),
    ],
)
def test_cheap_work_on_small_chunks_is_small(work: Callable[[Any], Any]) -> None:
    graph, wanted = graph_of(work(numbers()))
    linked = chains(ordered(needed_nodes(graph, wanted)), wanted)
    small = small_works(linked, chunk_bytes(notes_of(graph)))
    assert len(small) >= COUNT
    assert max(small.values()) <= SMALL


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x.map_blocks(nothing, dtype=float),
        lambda x: x.map_blocks(lambda block: block * 2, dtype=float),
        lambda x: x.map_blocks(np.linalg.inv, dtype=float),
        lambda x: x.map_blocks(np.sort, dtype=float),
        lambda x: x.map_blocks(np.load, dtype=float),
        lambda x: da.apply_along_axis(np.sum, 0, x),
        lambda x: da.einsum("i,i->i", x, x),
        lambda x: (x * 2).map_blocks(np.vectorize(nothing, otypes=[float]), dtype=float),
    ],
)
def test_what_may_take_any_time_is_not(work: Callable[[Any], Any]) -> None:
    array = work(numbers())
    assert kind_of(array.__dask_keys__()[0]) not in small_kinds(array)


def test_large_chunks_are_not_small() -> None:
    assert not small_kinds(numbers(SMALL // 8 + 1) * 2)


def test_an_array_in_a_file_is_not_small(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "numbers", dtype="f8", mode="w+", shape=(160,))
    read = da.from_array(mapped, chunks=10, asarray=False)
    assert not small_kinds(read.map_blocks(np.add, mapped[:10], dtype=float))


def test_a_large_argument_makes_a_node_large() -> None:
    large = np.ones((SMALL // 8 + 1, 1))
    assert not small_kinds(
        numbers().map_blocks(np.add, large, dtype=float, chunks=(len(large), 10))
    )


def test_objects_of_python_are_of_unknown_size() -> None:
    assert not small_kinds(numbers().astype(object) + 1)


def test_a_function_is_known_by_itself_and_not_by_its_name() -> None:
    def add(*_: Any) -> None:
        """Not the one of `operator`."""

    add.__module__, add.__qualname__ = "_operator", "add"
    assert not is_cheap(add)
    assert not is_cheap(np.matmul)
    assert is_cheap(np.add)


def test_a_long_list_makes_a_node_large() -> None:
    assert small_kinds(numbers()[list(range(20))])
    node = task_spec.Task(("x", 0), np.sum, [0] * SMALL)
    assert not small_works({("x", 0): [(("x", 0), node)]}, {"x": 8})


def test_a_graph_that_groups_would_hardly_shorten_is_not_coloured() -> None:
    x = da.ones((320, 320), chunks=(20, 20))
    graph, wanted = graph_of(x.map_overlap(nothing, depth=1, boundary="none", dtype=float).sum())
    linked = chains(ordered(needed_nodes(graph, wanted)), wanted)

    def cpus() -> int:
        raise AssertionError("nobody needs to know how many there are")

    assert grouped(linked, notes_of(graph), (), wanted, cpus) == linked


def test_what_reads_a_value_in_a_file_is_not_small(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "values", dtype=float, mode="w+", shape=(10,))
    data = task_spec.DataNode(("data", 0), mapped)
    reads = task_spec.Task(("x", 0), np.sum, task_spec.TaskRef(("data", 0)))
    linked: dict[Any, Any] = {("data", 0): [(("data", 0), data)], ("x", 0): [(("x", 0), reads)]}
    assert not small_works(linked, {"data": 80, "x": 8})
