"""Runs calls of joblib and Dask that a client has pickled as a whole.

Rain's own calls have one pickle for each argument. The adapters of joblib and Dask send one pickle
with the calls of their library, and separately the values that come from the cluster.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rain.common.pieces import Pieces


def value_at(place: int) -> Any:
    """A placeholder in a pickle for the value of the cluster at this place."""
    raise pickle.UnpicklingError(f"the value at {place} is known only where the call runs")


class _Unpickler(pickle.Unpickler):
    """Puts values of the cluster where the pickle has their places."""

    def __init__(self, data: bytes, values: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._values = values

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        found = super().find_class(module_name, global_name)
        return self._values.__getitem__ if found is value_at else found


def call_bundle(data: bytes, *values: Any) -> Any:
    """Calls what was pickled. In the pickle are places among the values."""
    fn: Callable[[], Any] = _Unpickler(data, values).load()
    return fn()


def call_chain(data: bytes, *values: Any) -> Any:
    """Runs nodes of a Dask graph of which only the first reads others than those before it.

    Pickled with the nodes are the keys of the values that the first one depends on and, by their
    keys, small values that the client had itself. The result of a node is dropped when the last
    node that reads it has run.
    """
    chain: list[tuple[Hashable, Callable[[Mapping[Hashable, Any]], Any]]]
    chain, keys, known = pickle.loads(data)
    read = {**known, **dict(zip(keys, values, strict=True))}
    left = _read_later(chain)
    for (key, node), needed in zip(chain, left, strict=True):
        made = node(read)
        read = {one: value for one, value in read.items() if one in needed}
        read[key] = made
        del made
    return read[chain[-1][0]]


def _read_later(chain: Sequence[tuple[Hashable, Any]]) -> list[set[Hashable]]:
    """For each node of a chain, the keys that later nodes read."""
    later: list[set[Hashable]] = [set()]
    for _, node in reversed(chain[1:]):
        later.append(later[-1] | set(node.dependencies))
    later.reverse()
    return later


def call_group(data: bytes, *values: Any) -> Any:
    """Runs small nodes of a Dask graph, each after those that it reads; gives what the last makes.

    All that they make stays until the last has run. An exception says which node has raised it.
    """
    group: list[tuple[Hashable, Callable[[Mapping[Hashable, Any]], Any]]]
    group, keys, known = pickle.loads(data)
    read = {**known, **dict(zip(keys, values, strict=True))}
    for key, node in group:
        try:
            read[key] = node(read)
        except Exception as error:
            error.add_note(f"This was raised in the node {key!r} of a Dask graph.")
            raise
    return read[group[-1][0]]


def call_chain_of_part(data: bytes, pieces: Pieces, *values: Any) -> Any:
    """The same, where the first node reads the pieces of a part before the other values."""
    return call_chain(data, *pieces, *values)
