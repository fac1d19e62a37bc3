"""Finds the nodes of Dask's graphs that are surely small: they read and make little, and call only
cheap functions.

Dask notes the chunks of its arrays, and so their bytes. `cheap_functions` knows the functions that
take no longer than their bytes do. A node that calls any other function is never small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from math import prod
from typing import Any, cast

import numpy as np

from rain.client.for_dask.cheap_functions import is_cheap, parts_of
from rain.client.for_dask.chunk_grids import exact
from rain.client.for_dask.graphs import Chain, Key, Node, is_data, target_of
from rain.client.for_dask.specs import DataNode, GraphNode, Task, TaskRef

SMALL = 256 * 1024
"""Bytes that a small node reads and writes at most: about as many as numpy processes in the time
that it takes to send a task, run it and get its result.
"""

_NUMPY_VALUES = (np.generic, np.dtype, np.random.SeedSequence)
"""Values of numpy that are no arrays."""

_PLAIN = frozenset([int, float, complex, bool, str, bytes, type(None), slice, type(...)])
_SEVERAL = frozenset([list, tuple, set])

# Dask is annotated in part.
_Task: Any = Task
_DataNode: Any = DataNode
_GraphNode: Any = GraphNode
_TaskRef: Any = TaskRef


def chunk_bytes(notes: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
    """The bytes of the largest chunk of each array that Dask has noted; None for unknown ones."""
    return {name: _largest_chunk(noted) for name, noted in notes.items()}


def _largest_chunk(noted: Mapping[str, Any]) -> int | None:
    dtype: Any = noted.get("dtype")
    if noted.get("chunk_type") != "numpy.ndarray" or not isinstance(dtype, np.dtype):
        return None
    if dtype.hasobject:
        return None
    grid = ((1,),) if noted.get("shape") == () else exact(noted.get("chunks", ()))
    return None if grid is None else prod(map(max, grid)) * dtype.itemsize


def small_works(chains: Mapping[Key, Chain], sizes: Mapping[str, int | None]) -> dict[Key, int]:
    """The bytes that each small chain reads and writes, by the key of its end.

    Args:
        chains: each after those that it reads.
        sizes: the bytes of the largest chunk of each noted array, by its name; None if unknown.
    """
    looking = _Looking(sizes)
    found: dict[Key, int] = {}
    for end, chain in chains.items():
        works = [looking.work(key, node) for key, node in chain]
        known = [work for work in works if work is not None]
        if len(known) == len(works) and not is_data(chain[0][1]) and sum(known) <= SMALL:
            found[end] = sum(known)
    return found


class _Looking:
    def __init__(self, sizes: Mapping[str, int | None]) -> None:
        self._sizes = sizes
        self._made: dict[Key, int] = {}  # bytes, of what is known
        # Whether functions are cheap, by their identities. The functions are kept alive, so that no
        # identity is reused.
        self._known: dict[int, tuple[object, bool]] = {}

    def work(self, key: Key, node: Node) -> int | None:
        """The bytes that a node reads and writes, or None if they are not known."""
        if is_data(node):  # its value says more than notes do, which may be of a file
            self._note(key, _bytes_of(node.value))
            return None
        size = self._size(key)
        self._note(key, size)
        target = target_of(node)
        if target is not None:
            self._note(key, self._made.get(target))
            return 0
        read = [self._made.get(one) for one in node.dependencies]
        all_read = sum(one for one in read if one is not None)
        inner = _inner(node)
        if None in read or any(map(self._is_unknown, (key, *inner))) or not self._is_plain(node):
            return None
        noted = [made for one in inner if (made := self._size(one)) is not None]
        largest = max(noted if size is None else [*noted, size], default=all_read)
        if size is None and (noted or read):
            self._made[key] = largest
        return all_read + max(len(inner), 1) * largest if key in self._made else None

    def _note(self, key: Key, size: int | None) -> None:
        if size is not None:
            self._made[key] = size

    def _size(self, key: Key) -> int | None:
        """That of the chunks of the array that a key is a chunk of; None if nothing says it."""
        return self._sizes.get(_array_of(key))

    def _is_unknown(self, key: Key) -> bool:
        """Whether a key is a chunk of a noted array whose chunks may have any size."""
        return self._sizes.get(_array_of(key), 0) is None

    def _is_plain(self, value: Any) -> bool:
        """Whether a value is small, a cheap function, or a node that has only those."""
        kind: type[Any] = type(value)
        if kind in _PLAIN:
            return sys.getsizeof(value) <= SMALL
        if kind in _SEVERAL:
            return sys.getsizeof(value) <= SMALL and all(map(self._is_plain, value))
        if kind is dict:
            return all(map(self._is_plain, value.values()))
        if isinstance(value, _GraphNode):
            return self._is_plain_node(value)
        if kind is np.ndarray:  # others may read a file, as `memmap` does
            size = _bytes_of(value)
            return size is not None and size <= SMALL
        if kind is _TaskRef or isinstance(value, _NUMPY_VALUES):
            return True
        return callable(value) and self._is_cheap(value)

    def _is_plain_node(self, node: Node) -> bool:
        if isinstance(node, _DataNode):
            return self._is_plain(node.value)
        if not isinstance(node, _Task):
            return target_of(node) is not None
        return (
            self._is_cheap(node.func)
            and all(map(self._is_plain, node.args))
            and (not node.kwargs or all(map(self._is_plain, node.kwargs.values())))
        )

    def _is_cheap(self, fn: Callable[..., Any]) -> bool:
        known = self._known.get(id(fn))
        if known is None:
            parts = parts_of(fn)
            cheap = all(map(self._is_plain, parts)) if parts else is_cheap(fn)
            known = self._known[id(fn)] = fn, cheap
        return known[1]


def _array_of(key: Key) -> str:
    """The name of the array that a key is a chunk of; "" for other keys."""
    parts = cast("tuple[object, ...]", key) if isinstance(key, tuple) else ()
    return parts[0] if parts and isinstance(parts[0], str) else ""


def _inner(node: Node) -> Collection[Key]:
    """The keys of the nodes that Dask has fused in this one."""
    return node.args[0] if isinstance(node, _Task) and node.has_subgraph() else ()


def _bytes_of(value: Any) -> int | None:
    """Those of a value of the graph, None for what says nothing of itself."""
    if type(value) in _PLAIN:
        return sys.getsizeof(value)
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return None
    array: Any = value
    size: int = array.nbytes
    return None if array.dtype.hasobject else size
