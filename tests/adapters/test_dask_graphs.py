"""Which nodes of a Dask graph become calls, without a cluster."""

from importlib import import_module
from operator import add, neg, sub
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.client.for_dask.graphs import Key, chains, name_of, needed_nodes, ordered
from rain.common.bundles import call_chain

cloudpickle: Any = import_module("cloudpickle")
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


def test_what_is_computed_of_a_value_and_then_put_to_it_is_one_chain_with_it() -> None:
    # As Dask sorts tables: a part for each row is computed of a column, and becomes another one.
    graph = CHAIN | {"both": (add, "load-1", "end"), "last": (neg, "both")}

    assert found(graph, ["last"]) == [["load-1", "neg-1", "end", "both", "last"]]
    assert found(graph, ["last", "load-1"]) == [["load-1"], ["neg-1", "end"], ["both", "last"]]
    assert len(found(graph | {"third": (neg, "load-1")}, ["last", "third"])) == 4


class Counted:
    """A number of which one knows how many there are."""

    alive = 0
    most = 0

    def __init__(self, number: int) -> None:
        self.number = number
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self) -> None:
        Counted.alive -= 1


def plus_one(one: Counted) -> Counted:
    return Counted(one.number + 1)


def plus(one: Counted, other: Counted) -> Counted:
    return Counted(one.number + other.number)


def test_a_chain_keeps_only_what_its_next_nodes_read() -> None:
    graph: dict[Key, Any] = {"0": (Counted, 1), "1": (plus_one, "0"), "2": (plus_one, "1")}
    graph |= {"3": (plus, "0", "2")}
    graph |= {f"{key}": (plus_one, f"{key - 1}") for key in range(4, 10)}
    (chain,) = chains(ordered(needed_nodes(graph, ["9"])), ["9"]).values()
    Counted.most = 0

    made = call_chain(cloudpickle.dumps((chain, [], {})))

    assert made.number == 1 + 3 + 6
    assert Counted.most == 3


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12))
def test_chains_compute_what_their_nodes_do(reads: list[tuple[int, int]]) -> None:
    graph: dict[Key, Any] = {"0": (add, 1, 1)}
    for key, (one, other) in enumerate(reads, start=1):
        graph[f"{key}"] = (sub, f"{one % key}", f"{other % key}")
    wanted = [f"{len(reads)}"]

    made: dict[Key, Any] = {}
    for end, chain in chains(ordered(needed_nodes(graph, wanted)), wanted).items():
        inner = {key for key, _ in chain}
        read = [one for one in chain[0][1].dependencies if one not in inner]
        data = cloudpickle.dumps((chain, read, {}))
        made[end] = call_chain(data, *[made[one] for one in read])

    assert made[wanted[0]] == dask.get(graph, wanted[0])


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
