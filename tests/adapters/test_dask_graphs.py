"""Which nodes of a Dask graph become calls, without a cluster."""

from importlib import import_module
from operator import add, neg
from typing import Any

import pytest

from rain.client.for_dask.graphs import Key, chains, name_of, needed_nodes, ordered

dask: Any = import_module("dask")  # half of Dask is annotated
specs: Any = import_module("dask._task_spec")

CHAIN: dict[Key, Any] = {"load-1": (add, 1, 2), "neg-1": (neg, "load-1"), "end": (neg, "neg-1")}


def found(graph: Any, wanted: list[Key]) -> list[list[Key]]:
    """The keys of each chain."""
    linked = chains(ordered(needed_nodes(graph, wanted)), wanted)
    assert list(linked) == [chain[-1][0] for chain in linked.values()]
    return [[key for key, _ in chain] for chain in linked.values()]


def test_nodes_that_read_only_the_one_before_are_one_chain() -> None:
    assert found(CHAIN, ["end"]) == [["load-1", "neg-1", "end"]]


def test_a_node_that_is_wanted_or_read_twice_ends_a_chain() -> None:
    assert found(CHAIN, ["end", "neg-1"]) == [["load-1", "neg-1"], ["end"]]
    more = CHAIN | {"twice": (add, "neg-1", "load-1")}
    assert sorted(map(len, found(more, ["end", "twice"]))) == [1, 1, 1, 1]


def test_a_value_of_the_graph_stays_apart_from_the_chain_that_reads_it() -> None:
    graph = {"table": specs.DataNode("table", "a large value"), "end": (len, "table")}

    assert found(graph, ["end"]) == [["table"], ["end"]]


def test_a_node_that_bears_another_key_than_its_place_is_in_a_chain() -> None:
    alias = specs.Alias("elsewhere", "load-1")  # Dask makes such graphs of `from_delayed`

    linked = found(
        {"load-1": (add, 1, 2), "elsewhere-2": alias, "end": (neg, "elsewhere-2")}, ["end"]
    )

    assert linked == [["load-1", "elsewhere-2", "end"]]


def test_a_setting_of_dask_keeps_the_nodes_apart() -> None:
    with dask.config.set({"optimization.fuse.active": False}):
        assert found(CHAIN, ["end"]) == [["load-1"], ["neg-1"], ["end"]]


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["load-1", ("neg-12", 3), "neg-14"], "load-neg"),
        (["a-1", "b-1", "c-1", "d-1", "e-1"], "a-...-e"),
    ],
)
def test_a_chain_is_named_after_the_kinds_of_its_nodes(keys: list[Key], name: str) -> None:
    assert name_of([(key, None) for key in keys]) == name
