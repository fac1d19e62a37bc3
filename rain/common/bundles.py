"""Calls of other libraries that a client has pickled as a whole, as executors run them.

Rain's own calls have one pickle for each argument. The adapters of joblib and Dask send what their
library wants to be run as one pickle, and what comes from the cluster beside it.
"""

import io
import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any


class _Unpickler(pickle.Unpickler):
    """Puts values of the cluster where the pickle has their places."""

    def __init__(self, data: bytes, values: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._values = values

    def persistent_load(self, pid: Any) -> Any:
        return self._values[pid]


def call_bundle(data: bytes, *values: Any) -> Any:
    """Calls what was pickled. The persistent ids in the pickle are places among the values."""
    fn: Callable[[], Any] = _Unpickler(data, values).load()
    return fn()


def call_node(data: bytes, *values: Any) -> Any:
    """Runs a node of a Dask graph, with the values that it depends on.

    Pickled with the node are the keys of the values and, by their keys, small values that the
    client had itself.
    """
    node: Callable[[Mapping[Hashable, Any]], Any]
    node, keys, known = pickle.loads(data)
    return node({**known, **dict(zip(keys, values, strict=True))})
