"""Groups of Dask's nodes make what the nodes make alone, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.client.for_dask.graphs import Chain, Key, chains, needed_nodes, notes_of, ordered
from rain.client.for_dask.groups import FEWEST_CHAINS, grouped
from rain.common.bundles import call_group
from rain.common.content_type import encode_value
from tests.adapters.test_dask_rechunks import graph_of

dask: Any = import_module("dask")
da: Any = import_module("dask.array")


def of_user(block: Any) -> Any:
    return block + 1


def values_in(found: Mapping[Key, Chain]) -> dict[Key, Any]:
    """What executors make of groups."""
    made: dict[Key, Any] = {}
    for end, nodes in found.items():
        inner = {key for key, _ in nodes}
        read = {one for _, node in nodes for one in node.dependencies} - inner
        keys = list(read)
        data = encode_value((nodes, keys, {}), "pickle")
        made[end] = call_group(data, *[made[key] for key in keys])
    return made


Step = tuple[str, int]

STEPS: Mapping[str, Callable[[Any, int], Any]] = {
    "plus": lambda x, n: x + n,
    "transposed": lambda x, _: x + x.T,
    "sliced": lambda x, n: x[n % 7 :, n % 7 :],
    "differences": lambda x, n: abs(x) - x / (n + 1),
    "centred": lambda x, n: x - x.mean(axis=n % 2, keepdims=True),
    "summed up": lambda x, n: x.cumsum(axis=n % 2),
    "where": lambda x, n: da.where(x > n, x, -x),
    "of the user": lambda x, _: x.map_blocks(of_user, dtype=float),
}
ENDS: Mapping[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "deviation": lambda x: x.std(axis=0),
    "largest": lambda x: x.max(axis=1, keepdims=True),
    "itself": lambda x: x,
}


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 50)), max_size=2),
    st.sampled_from(sorted(ENDS)),
    st.integers(1, 8),
)
def test_groups_make_what_nodes_make_alone(steps: Sequence[Step], end: str, cpus: int) -> None:
    side = 54
    x = da.from_array(np.arange(side * side * 1.0).reshape(side, side), chunks=(6, 6))
    for name, number in steps:
        x = STEPS[name](x, number)
    array = ENDS[end](x)
    graph, wanted = graph_of(array)
    linked = chains(ordered(needed_nodes(graph, wanted)), wanted)
    found = grouped(linked, notes_of(graph), (), wanted, lambda: cpus)
    plain = values_in(linked)
    in_groups = values_in(found)
    assert in_groups.keys() >= set(wanted)
    assert len(linked) >= FEWEST_CHAINS or found == linked
    for key in wanted:
        np.testing.assert_array_equal(in_groups[key], plain[key])
    plainly = dask.get(graph, wanted)
    np.testing.assert_array_equal([in_groups[key] for key in wanted], plainly)
