"""Replaces shuffles in Dask's graphs by exchanges (`rain.client.futures.shuffling`).

Dask writes a shuffle of M partitions into N as M nodes that split, M x N nodes that each take one
piece out of a split, and N nodes that read M pieces each. The M x N nodes are left out. The pieces
of each split are one object, and each of the N nodes reads its part of all of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from operator import getitem
from typing import Any

from attrs import Factory, define, frozen

from rain.client.for_dask.graphs import Key, Node
from rain.client.for_dask.specs import Alias, Task, TaskRef
from rain.common.partitioned import PARTITIONED
from rain.common.splitting import TakeApart

# Dask is annotated in part.
_Task: Any = Task
_TaskRef: Any = TaskRef


@frozen
class Read:
    """The pieces that a node reads: one of each of these, all of the same part."""

    splits: tuple[Key, ...]
    part: int
    pieces: tuple[Key, ...]  # the keys by which the node knows them, in the order of the splits


@frozen
class TakingApart:
    """The call around a node that splits: its pieces are these parts of the node's result."""

    parts: tuple[int, ...]
    content_type = PARTITIONED

    @property
    def changes_arguments(self) -> bool:
        return True

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return TakeApart(fn, self.parts)


@define
class Shuffles:
    """The shuffles of a graph."""

    reads: dict[Key, Read] = Factory(dict)  # by the nodes that read
    parts: dict[Key, tuple[int, ...]] = Factory(dict)  # by the nodes that split: what is read
    pieces: set[Key] = Factory(set)  # the nodes between them, which nobody needs

    def others(self, nodes: Mapping[Key, Node]) -> dict[Key, Node]:
        """The nodes without those between."""
        return {key: node for key, node in nodes.items() if key not in self.pieces}


def find_shuffles(nodes: Mapping[Key, Node], wanted: Collection[Key]) -> Shuffles:
    """The shuffles among these nodes, each of which comes after those that it depends on."""
    readers: dict[Key, list[Key]] = defaultdict(list)
    for key, node in nodes.items():
        for read in node.dependencies:
            readers[read].append(key)
    taken: dict[Key, tuple[Key, int]] = {}
    for key, node in nodes.items():
        piece = _piece(node)
        if piece is not None and len(readers[key]) == 1 and key not in wanted:
            taken[key] = piece
    places = {key: place for place, key in enumerate(nodes)}
    reads = {
        key: read
        for key in dict.fromkeys(readers[piece][0] for piece in taken)
        if (read := _read(nodes[key], taken, places)) is not None
    }
    groups: dict[tuple[Key, ...], list[Key]] = defaultdict(list)
    for key, read in reads.items():
        groups[read.splits].append(key)
    found = Shuffles()
    for splits, merges in groups.items():
        pieces = {piece for key in merges for piece in reads[key].pieces}
        parts = {reads[key].part for key in merges}
        whole = all(
            isinstance(nodes[split], _Task)
            and split not in wanted
            and pieces.issuperset(readers[split])
            for split in splits
        )
        if whole and len(parts) == len(merges) > 1:
            found.reads |= {key: reads[key] for key in merges}
            found.parts |= dict.fromkeys(splits, tuple(sorted(parts)))
            found.pieces |= pieces
    return found


def _piece(node: Node) -> tuple[Key, int] | None:
    """The node of which this one takes something, and the number by which it takes it."""
    if not isinstance(node, _Task) or node.func is not getitem:
        return None
    args: tuple[Any, ...] = node.args
    if len(args) != 2 or type(args[1]) is not int or args[1] < 0:
        return None
    source = args[0]
    if isinstance(source, Alias):
        return source.target, args[1]
    return (source.key, args[1]) if isinstance(source, _TaskRef) else None


def _read(
    node: Node, taken: Mapping[Key, tuple[Key, int]], places: Mapping[Key, int]
) -> Read | None:
    """The inputs of a node, if they are the same part of several splits, each once."""
    pieces = {taken[key][0]: key for key in node.dependencies if key in taken}
    numbers = {taken[key][1] for key in pieces.values()}
    count = sum(key in taken for key in node.dependencies)
    if len(numbers) != 1 or len(pieces) != count or count < 2:
        return None
    (part,) = numbers
    splits = tuple(sorted(pieces, key=places.__getitem__))
    return Read(splits, part, tuple([pieces[split] for split in splits]))
