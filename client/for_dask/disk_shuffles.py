"""Replaces shuffles that Dask does through files by exchanges.

By default, Dask appends the rows of all partitions of a data frame, or the items of all partitions
of a bag, to files of one machine, and reads each new partition from there. A node that runs twice
(for example after a memory eviction) appends its rows twice: the result is wrong, without any
error. In an exchange each run makes an object of its own, on any machine.

A shuffle of a form that this module does not recognise is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from attrs import frozen

from rain.client.for_dask.graphs import Key, Node, fused, list_pieces, reachable
from rain.client.for_dask.specs import Alias, Task, TaskRef
from rain.common.errors import RainException
from rain.common.tables import groups_of, items_by_part, put_together, rows_by_part

# Dask is annotated in part.
_Alias: Any = Alias
_Task: Any = Task
_TaskRef: Any = TaskRef

_BARRIER = "barrier"
_MERGE = "collect"
"""How Dask calls functions of such shuffles. They are compared by their names, since the modules
that they are in are not needed where no such collection is."""


@frozen
class _Kind:
    """The shuffles of one kind of collection."""

    package: str
    split: str
    splitting: Callable[[Key, Node, Collection[int]], Node]  # what a split becomes
    merging: Callable[[Key, Node, Key], Node]

    def calls(self, node: Node, name: str) -> bool:
        """Whether a node calls this function of the package."""
        fn: Any = getattr(node, "func", None)
        module: str = getattr(fn, "__module__", None) or ""
        return getattr(fn, "__qualname__", "") == name and module.startswith(self.package)

    def knows(self, node: Node) -> bool:
        """Whether a node is of such a shuffle."""
        return any(self.calls(node, name) for name in (self.split, _BARRIER, _MERGE))


def _split_table(key: Key, node: Node, parts: Collection[int]) -> Node:
    table, column, _, _ = node.args
    return _Task(key, rows_by_part, table, column, parts)


def _merge_tables(key: Key, node: Node, barrier: Key) -> Node:
    _, part, empty, _ = node.args
    return _Task(key, put_together, _TaskRef(barrier), part, empty)


def _split_bag(key: Key, node: Node, parts: Collection[int]) -> Node:
    grouper, items, count, _, _ = node.args
    return _Task(key, items_by_part, items, grouper, count, parts)


def _merge_bags(key: Key, node: Node, barrier: Key) -> Node:
    grouper, part, _, _ = node.args
    return _Task(key, groups_of, _TaskRef(barrier), part, grouper)


_KINDS = (
    _Kind("dask.dataframe.", "DiskShuffle._shuffle_group", _split_table, _merge_tables),
    _Kind("dask.bag.", "partition", _split_bag, _merge_bags),
)


def replace_disk_shuffles(
    nodes: dict[Key, Node], wanted: Collection[Key]
) -> tuple[dict[Key, Node], set[Key]]:
    """The graph with exchanges in place of shuffles through files, and the nodes that make pieces.

    Raises:
        RainException: if it has another shuffle that would be wrong here.
    """
    made = _taken_apart(nodes)
    cuts: set[Key] = set()
    for kind in _KINDS:
        cuts |= _replace(kind, made)
    if cuts:
        nodes = reachable(made, wanted)
    _refuse_others(nodes)
    return nodes, cuts


def _replace(kind: _Kind, nodes: dict[Key, Node]) -> set[Key]:
    """Replaces the shuffles of one kind; the nodes that make pieces."""
    merges: dict[Key, list[Key]] = defaultdict(list)  # by the barriers that they wait for
    for key, node in nodes.items():
        if kind.calls(node, _MERGE) and len(node.args) == 4:
            merges[_read_by(node.args[3])].append(key)
    cuts: set[Key] = set()
    for barrier, merging in merges.items():
        splits = _splits(kind, nodes, barrier)
        if not splits:
            continue
        parts = frozenset(nodes[key].args[1] for key in merging)
        for key in splits:
            nodes[key] = kind.splitting(key, nodes[key], parts)
        nodes[barrier] = _Task(barrier, list_pieces, *map(_TaskRef, splits))
        for key in merging:
            nodes[key] = kind.merging(key, nodes[key], barrier)
        cuts.update(splits)
    return cuts


def _splits(kind: _Kind, nodes: Mapping[Key, Node], barrier: Key) -> list[Key]:
    """The nodes that a barrier waits for, by their numbers, if all of them split."""
    node = nodes.get(barrier)
    if node is None or not kind.calls(node, _BARRIER):
        return []
    splits = list(node.dependencies)
    if not all(kind.calls(nodes[key], kind.split) for key in splits):
        return []
    return sorted(splits, key=_number)


def _number(key: Any) -> int:
    """The number of the partition that a node splits."""
    number: int = key[1]
    return number


def _taken_apart(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    """The graph, in which the nodes of such shuffles are not fused with others.

    Dask fuses a node that merges with what is computed of it, for bags and arrays, and one that
    splits with the barrier if there is no other. Both come first in what is fused. The others stay
    fused, because some of them give iterators to the next.
    """
    made = dict(nodes)
    for key, node in nodes.items():
        inner, end = fused(node)
        own = {name: one for name, one in inner.items() if _is_known(one)}
        others = {name: one for name, one in inner.items() if name not in own}
        if not own or any(others.keys() & one.dependencies for one in own.values()):
            continue
        made |= own
        if others:
            read = {name for one in others.values() for name in one.dependencies} - others.keys()
            made[key] = _Task(key, node.func, others, end, tuple(read), *map(_TaskRef, read))
        elif key != end:
            made[key] = _Alias(key, target=end)
    return made


def _is_known(node: Node) -> bool:
    return any(kind.knows(node) for kind in _KINDS)


def _refuse_others(nodes: Mapping[Key, Node]) -> None:
    """Raises if a shuffle is left that may be wrong, or that only workers of Dask's can run."""
    for key, node in _all_of(nodes):
        if any(kind.calls(node, kind.split) or kind.calls(node, _MERGE) for kind in _KINDS):
            raise RainException(
                f"Dask's graph shuffles through files in a way that is not known here ({key!r});"
                " rows would be there twice after a task has run again."
                ' Say dask.config.set({"dataframe.shuffle.method": "tasks"}), and'
                ' groupby(..., shuffle="tasks") for a bag'
            )
        if type(node).__name__ == "P2PBarrierTask":
            raise RainException(
                f"Dask's graph has a shuffle that only workers of dask.distributed run ({key!r}),"
                " which Dask writes while a distributed.Client is open. Close it, or say"
                ' dask.config.set({"dataframe.shuffle.method": "tasks",'
                ' "array.rechunk.method": "tasks"})'
            )


def _all_of(nodes: Mapping[Key, Node]) -> Iterator[tuple[Key, Node]]:
    """The nodes, and those that are fused."""
    for key, node in nodes.items():
        yield key, node
        yield from fused(node)[0].items()


def _read_by(argument: Any) -> Key:
    """The key that an argument of a node stands for."""
    key: Key = getattr(argument, "target", None) or getattr(argument, "key", None)
    return key
