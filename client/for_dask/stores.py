"""Refuses graphs that store into what only the program can reach.

Tasks would store into copies of its arrays, without any error. And what it has opened, or locks,
cannot be sent to them.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from typing import Any

from rain.client.for_dask.graphs import Key, Node, kind_of
from rain.common.by_value import travels
from rain.common.errors import RainException

_STORES = frozenset({"store_chunk", "load_store_chunk"})
_FUSED = "_execute_subgraph"
"""How Dask calls its functions that store a chunk, and the one that runs a few nodes as one."""


_PARAMETERS = (("out", 1), ("lock", 4))
"""Those of the functions that store a chunk which say where, and their places."""


def expect_no_stores_here(nodes: MutableMapping[Key, Node]) -> None:
    """RainException for a graph whose nodes store into what only the program can reach."""
    seen: dict[int, object] = {}  # held, so that no other value gets the same id
    for key, node in nodes.items():
        if "store" in kind_of(key):  # Dask names fused nodes by all of them
            for target in _targets(node, nodes):
                if id(target) not in seen:
                    seen[id(target)] = target
                    _expect_reachable(target)


def _expect_reachable(target: object) -> None:
    from numpy import ndarray  # noqa: PLC0415 # which Dask's arrays have loaded

    if isinstance(target, ndarray):
        raise RainException(
            f"the graph stores into a numpy array of your program, of {target.nbytes:,} bytes, and"
            " tasks have only copies of it: write array[:] = x.compute(), or store into Zarr"
        )
    if not travels(target):
        raise RainException(
            "the graph stores into a file that your program has opened, and tasks are other"
            f" processes (its {type(target).__name__!r} cannot be sent): compute first, as in"
            " dataset.compute().to_netcdf(path), or store into Zarr"
        )


def _targets(node: Any, known: MutableMapping[Any, Any]) -> Iterator[object]:
    name: str = getattr(getattr(node, "func", None), "__name__", "")
    if name == _FUSED:
        inner, _, names, *values = node.args
        given = ChainMap(dict(zip(names, values, strict=False)), inner, known)
        for one in inner.values():
            yield from _targets(one, given)
    elif name in _STORES:
        for parameter, place in _PARAMETERS:
            if parameter in node.kwargs:
                yield _resolved(node.kwargs[parameter], known)
            elif len(node.args) > place:
                yield _resolved(node.args[place], known)


def _resolved(value: Any, known: MutableMapping[Any, Any]) -> object:
    """The value of a constant; a reference may lead to another one."""
    for _ in range(len(known)):
        if not hasattr(value, "key") or hasattr(value, "value"):
            break
        value = known.get(value.key)
    return getattr(value, "value", value)
