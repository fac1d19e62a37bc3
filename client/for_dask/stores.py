"""Refuses graphs that store into arrays in the memory of the program, which tasks cannot reach.

Such tasks would store into copies, without any error.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from typing import Any

from rain.client.for_dask.graphs import Key, Node, kind_of
from rain.common.errors import RainException

_STORES = frozenset({"store_chunk", "load_store_chunk"})
_FUSED = "_execute_subgraph"
"""How Dask calls its functions that store a chunk, and the one that runs a few nodes as one."""


def expect_no_stores_here(nodes: MutableMapping[Key, Node]) -> None:
    """RainException for a graph whose nodes store into an array in the memory of the program."""
    for key, node in nodes.items():
        if kind_of(key).startswith("store"):
            for target in _targets(node, nodes):
                _expect_reachable(target)


def _expect_reachable(target: object) -> None:
    from numpy import ndarray  # noqa: PLC0415 # which Dask's arrays have loaded

    if isinstance(target, ndarray):
        raise RainException(
            f"the graph stores into a numpy array of your program, of {target.nbytes:,} bytes, and"
            " tasks have only copies of it: write array[:] = x.compute(), or store into a Zarr or"
            " HDF5 array"
        )


def _targets(node: Any, known: MutableMapping[Any, Any]) -> Iterator[object]:
    name: str = getattr(getattr(node, "func", None), "__name__", "")
    if name == _FUSED:
        inner, _, names, *values = node.args
        given = ChainMap(dict(zip(names, values, strict=False)), inner, known)
        for one in inner.values():
            yield from _targets(one, given)
    elif name in _STORES:
        out: Any = node.kwargs["out"] if "out" in node.kwargs else node.args[1]
        for _ in range(len(known)):  # a reference may lead to another one
            if not hasattr(out, "key") or hasattr(out, "value"):
                break
            out = known.get(out.key)
        yield getattr(out, "value", out)
