"""Computes the part numbers of a table's rows block by block, to save memory.

Dask hashes the columns that a table is shuffled by. For this, pandas makes a Python object of each
different string, which can temporarily take more memory than the table.
"""

from __future__ import annotations

from typing import Any

from rain.client.for_dask.graphs import Key, Node, fused
from rain.client.for_dask.specs import Task
from rain.common.tables import with_part_numbers

# Dask is annotated in part.
_Task: Any = Task

_ASSIGN = "AssignPartitioningIndex.operation"
"""How Dask calls the function, which is compared by its name as those of shuffles are."""


def number_some_at_a_time(nodes: dict[Key, Node]) -> dict[Key, Node]:
    """The graph, in which the rows of a table are numbered some at a time."""
    return {key: _replaced(key, node) for key, node in nodes.items()}


def _replaced(key: Key, node: Node) -> Node:
    inner, _ = fused(node)
    if any(_numbers(one) for one in inner.values()):
        changed = {name: _replaced(name, one) for name, one in inner.items()}
        return _Task(key, node.func, changed, *node.args[1:])
    if _numbers(node):
        return _Task(key, with_part_numbers, node.func, *node.args)
    return node


def _numbers(node: Node) -> bool:
    fn: Any = getattr(node, "func", None)
    module: str = getattr(fn, "__module__", None) or ""
    is_known = getattr(fn, "__qualname__", "") == _ASSIGN and module.startswith("dask.dataframe.")
    return is_known and len(node.args) >= 3 and not node.kwargs
