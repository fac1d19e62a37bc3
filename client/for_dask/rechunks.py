"""Replaces rechunks in Dask's graphs by exchanges (`rain.client.futures.shuffling`).

Dask plans a rechunk in several steps, because a graph that takes each piece out of each chunk has
too many nodes. Each step reads and writes the whole array. Here all steps become one: each old
chunk is cut into pieces, which are stored as one object, and each new chunk reads its pieces from
these objects. The cuts follow from the chunks of both arrays alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from attrs import Factory, define, frozen

from rain.client.for_dask.chunk_grids import Exchanged, Grid, Place, exchanges
from rain.client.for_dask.graphs import Key, Node, list_pieces, reachable
from rain.client.for_dask.specs import Alias, Task, TaskRef
from rain.common.chunks import assembled, cut_apart
from rain.common.partitioned import PARTITIONED

# Dask is annotated in part.
_Alias: Any = Alias
_Task: Any = Task
_TaskRef: Any = TaskRef

_NEW = "rechunk-merge-"
_BETWEEN = "rechunk-split-"
"""How Dask calls the nodes of a rechunk: the new chunks, and what is taken out of the old ones. A
token follows that is the same for both."""


@frozen
class Cutting:
    """The call around a node that cuts a chunk apart: the node makes pieces itself."""

    content_type = PARTITIONED

    @property
    def changes_arguments(self) -> bool:
        return False

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn


CUTTING = Cutting()


@define
class Rechunks:
    """A graph in which rechunks are exchanges."""

    nodes: dict[Key, Node]
    cuts: set[Key] = Factory(set)  # the nodes that make a piece for each part


@frozen
class _Step:
    """One step of a rechunk as Dask has written it."""

    name: str
    source: str
    places: tuple[Place, ...]  # of its chunks, as far as they are in the graph


def find_rechunks(
    nodes: dict[Key, Node], grids: Mapping[str, Grid], wanted: Collection[Key]
) -> Rechunks:
    """The graph with exchanges in place of rechunks, where that is less work.

    Args:
        nodes: all that are needed, in any order.
        grids: the chunks of the arrays in the graph by their names, as far as they are known.
        wanted: the keys whose values are asked for.
    """
    if not any(name.startswith(_NEW) for name in grids):
        return Rechunks(nodes)
    apart = _unfused(nodes)
    steps = {step.name: step for step in _steps(apart, grids)}
    inner = _inner(apart, steps, wanted)
    found = Rechunks(apart)
    left = [step for name, step in steps.items() if name not in inner]
    while left:
        step = first = left.pop()
        while first.source in inner:
            first = steps[first.source]
        parts = exchanges(grids[first.source], grids[step.name], step.places)
        if _is_less_work(parts):
            for number, part in enumerate(parts):
                _add(found, part, grids[first.source], (first.source, step.name), number)
        elif step.source in inner:
            left.append(steps[step.source])
    if not found.cuts:
        return Rechunks(nodes)
    found.nodes = reachable(found.nodes, wanted)
    found.cuts &= found.nodes.keys()
    return found


def _is_less_work(parts: list[Exchanged]) -> bool:
    """Whether Dask's own way takes out more pieces than there are chunks."""
    chunks = sum(len(part.old) + len(part.new) for part in parts)
    return sum(part.pieces for part in parts) > chunks


def _unfused(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    """The nodes, after undoing Dask's fusion of nodes of a rechunk with others."""
    apart = dict(nodes)
    for key, node in nodes.items():
        if not isinstance(node, _Task) or not node.has_subgraph():
            continue
        inner: dict[Key, Node] = node.args[0]
        end: Key = node.args[1]
        others = [nodes[one] for one in inner if one != key and one in nodes]
        if any(map(_step_of, inner)) and all(isinstance(one, _Alias) for one in others):
            apart |= inner
            if end != key:
                apart[key] = _Alias(key, end)
    return apart


def _steps(nodes: Mapping[Key, Node], grids: Mapping[str, Grid]) -> Iterator[_Step]:
    places: dict[str, list[Place]] = defaultdict(list)
    for key in nodes:
        name = _step_of(key)
        if name in grids and _array_of(key) == name:
            places[name].append(_place_of(key))
    for name, known in places.items():
        sources = {source for place in known for source in _sources(nodes, name, place)}
        if len(sources) == 1:
            (source,) = sources
            if source in grids and _lengths(grids[source]) == _lengths(grids[name]):
                yield _Step(name, source, tuple(known))


def _sources(nodes: Mapping[Key, Node], name: str, place: Place) -> Iterator[str]:
    """The names of the arrays of which a new chunk has pieces."""
    for key in nodes[name, *place].dependencies:
        if _step_of(key) == name and key in nodes:
            yield from (_array_of(read) for read in nodes[key].dependencies)
        else:
            yield _array_of(key)


def _inner(
    nodes: Mapping[Key, Node], steps: Mapping[str, _Step], wanted: Collection[Key]
) -> set[str]:
    """The steps whose chunks only one other step reads."""
    readers: dict[str, set[str]] = {name: set() for name in steps}
    for key, node in nodes.items():
        for read in node.dependencies:
            name = _array_of(read)
            if name in readers:
                readers[name].add(_step_of(key))
    inner = {
        name
        for name, reading in readers.items()
        if len(reading) == 1 and all(one in steps and steps[one].source == name for one in reading)
    }
    return inner - set(map(_array_of, wanted))


def _add(found: Rechunks, part: Exchanged, old: Grid, names: tuple[str, str], number: int) -> None:
    """Puts one exchange in the place of nodes."""
    source, name = names
    if len(part.old) == len(part.new) == 1:
        key = (name, *part.new[0])
        found.nodes[key] = _Alias(key, (source, *part.old[0]))
        return
    token = name.removeprefix(_NEW)
    splits: list[Key] = []
    for place, cuts in zip(part.old, part.cuts, strict=True):
        cut = (f"rechunk-cut-{token}", number, *place)
        shape = tuple([lengths[at] for lengths, at in zip(old, place, strict=True)])
        chunk = _TaskRef((source, *place))
        found.nodes[cut] = _Task(cut, cut_apart, chunk, shape, cuts, len(part.new))
        splits.append(cut)
    found.cuts.update(splits)
    listed = (f"rechunk-exchange-{token}", number)
    found.nodes[listed] = _Task(listed, list_pieces, *map(_TaskRef, splits))
    for at, (place, extents) in enumerate(zip(part.new, part.extents, strict=True)):
        key = (name, *place)
        found.nodes[key] = _Task(key, assembled, _TaskRef(listed), at, extents)


def _array_of(key: Key) -> str:
    """The array that a key is a chunk of; nothing if it is none."""
    return key[0] if isinstance(key, tuple) and key and isinstance(key[0], str) else ""


def _place_of(key: Any) -> Place:
    """The place of a chunk in its array."""
    return tuple(key[1:])


def _step_of(key: Key) -> str:
    """The step of a rechunk that a node belongs to: the name of what it makes, or nothing."""
    name = _array_of(key)
    if name.startswith(_BETWEEN):
        return _NEW + name.removeprefix(_BETWEEN)
    return name if name.startswith(_NEW) else ""


def _lengths(grid: Grid) -> list[int]:
    return [sum(lengths) for lengths in grid]
