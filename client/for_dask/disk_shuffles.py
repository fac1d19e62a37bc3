"""Shuffles of data frames that Dask has written through files, which become exchanges.

Unless it is told otherwise, Dask appends the rows of all partitions to files of one machine, and
reads each new partition from there. A node that runs twice, as after an eviction for memory,
appends its rows twice: the result is wrong, and nothing says so. As an exchange each run makes an
object of its own, on any machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from dask._task_spec import Task, TaskRef

from rain.client.for_dask.graphs import Key, Node, list_pieces, reachable
from rain.common.tables import put_together, rows_by_part

# Dask is annotated in part.
_Task: Any = Task
_TaskRef: Any = TaskRef

_SPLIT = "DiskShuffle._shuffle_group"
_BARRIER = "barrier"
_MERGE = "collect"
"""How Dask calls the functions of such a shuffle. They are compared by their names, since the
modules that they are in are not needed where no data frame is."""


def replace_disk_shuffles(
    nodes: dict[Key, Node], wanted: Collection[Key]
) -> tuple[dict[Key, Node], set[Key]]:
    """The same graph with exchanges in their place, and its nodes that make pieces for them."""
    merges: dict[Key, list[Key]] = defaultdict(list)  # by the barriers that they wait for
    for key, node in nodes.items():
        if _calls(node, _MERGE) and len(node.args) == 4:
            merges[_read_by(node.args[3])].append(key)
    made = dict(nodes)
    cuts: set[Key] = set()
    for barrier, merging in merges.items():
        splits = _splits(nodes, barrier)
        if not splits or not cuts.isdisjoint(splits):
            continue
        parts = frozenset(nodes[key].args[1] for key in merging)
        for key in splits:
            table, column, *_ = nodes[key].args
            made[key] = _Task(key, rows_by_part, _TaskRef(_read_by(table)), column, parts)
        made[barrier] = _Task(barrier, list_pieces, *map(_TaskRef, splits))
        for key in merging:
            _, part, empty, _ = nodes[key].args
            made[key] = _Task(key, put_together, _TaskRef(barrier), part, empty)
        cuts.update(splits)
    return (reachable(made, wanted), cuts) if cuts else (nodes, cuts)


def _splits(nodes: Mapping[Key, Node], barrier: Key) -> list[Key]:
    """The nodes that a barrier waits for, in the order of the graph, if all of them split."""
    node = nodes.get(barrier)
    if node is None or not _calls(node, _BARRIER):
        return []
    splits = [key for key in nodes if key in node.dependencies]
    return splits if all(_calls(nodes[key], _SPLIT) for key in splits) else []


def _calls(node: Node, name: str) -> bool:
    fn: Any = getattr(node, "func", None)
    module: str = getattr(fn, "__module__", None) or ""
    return getattr(fn, "__qualname__", "") == name and module.startswith("dask.dataframe.")


def _read_by(argument: Any) -> Key:
    """The key that an argument of a node stands for."""
    key: Key = getattr(argument, "target", None) or getattr(argument, "key", None)
    return key
