"""Lets Dask concatenate large tables in files, as for `repartition` and groupings.

So a task does not need memory for the whole table (`rain.common.mapped_columns`).
"""

from __future__ import annotations

from typing import Any

from rain.client.for_dask.graphs import Key, Node
from rain.client.for_dask.specs import Task
from rain.common.tables import concatenated

# Dask is annotated in part.
_Task: Any = Task

_CONCATENATE = "_concat"
"""How Dask calls the function, which is compared by its name as those of shuffles are."""


def concatenate_in_files(nodes: dict[Key, Node]) -> dict[Key, Node]:
    """The graph, in which tables are concatenated in files."""
    return {key: _replaced(key, node) for key, node in nodes.items()}


def _replaced(key: Key, node: Node) -> Node:
    fn: Any = getattr(node, "func", None)
    if getattr(fn, "__name__", "") != _CONCATENATE:
        return node
    module: str = getattr(fn, "__module__", None) or ""
    if not module.startswith("dask.dataframe.") or len(node.args) > 2 or node.kwargs:
        return node
    return _Task(key, concatenated, fn, *node.args)
