"""Which nodes of a Dask graph become calls, without a cluster."""

from importlib import import_module
from operator import add, neg
from typing import Any

import pytest

from rain.client.for_dask.graphs import Key, is_data, kind_of, needed_nodes, target_of

dask: Any = import_module("dask")  # half of Dask is annotated
DataNode: Any = import_module("dask._task_spec").DataNode

CHAIN: dict[Key, Any] = {"load-1": (add, 1, 2), "neg-1": (neg, "load-1"), "end": (neg, "neg-1")}


def calls(graph: Any, wanted: list[Key]) -> list[Key]:
    """The keys of the nodes that run somewhere."""
    nodes = needed_nodes(graph, wanted)
    return [key for key, node in nodes.items() if not is_data(node) and target_of(node) is None]


def test_a_chain_of_nodes_is_one_call() -> None:
    (key,) = calls(CHAIN, ["end"])

    assert kind_of(key) == "load-neg-end"  # named after all of them


def test_a_node_that_is_wanted_or_read_twice_ends_a_chain() -> None:
    assert len(calls(CHAIN, ["end", "neg-1"])) == 2
    assert len(calls(CHAIN | {"twice": (add, "neg-1", "load-1")}, ["end", "twice"])) == 4


def test_a_value_of_the_graph_stays_apart_from_the_chain_that_reads_it() -> None:
    graph = {"table": DataNode("table", "a large value"), "end": (len, "table")}

    nodes = needed_nodes(graph, ["end"])

    assert [key for key, node in nodes.items() if is_data(node)] == ["table"]
    assert nodes["end"].dependencies == {"table"}


def test_a_setting_of_dask_keeps_the_nodes_apart() -> None:
    with dask.config.set({"optimization.fuse.active": False}):
        assert calls(CHAIN, ["end"]) == ["load-1", "neg-1", "end"]


@pytest.mark.parametrize("wanted", [["end"], ["end", "neg-1"]])
def test_each_node_comes_after_those_that_it_depends_on(wanted: list[Key]) -> None:
    seen: set[Key] = set()
    for key, node in needed_nodes(CHAIN, wanted).items():
        assert node.dependencies <= seen
        seen.add(key)
