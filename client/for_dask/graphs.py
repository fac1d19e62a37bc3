"""Dask's graphs: what is in them, what of it is needed, and in which order it is best run."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from dask import config
from dask._task_spec import Alias, DataNode, convert_legacy_graph
from dask.order import order
from dask.utils import key_split

Key: TypeAlias = Hashable
Node: TypeAlias = Any  # a GraphNode, of which a mapping of keys and values makes its result
Chain: TypeAlias = list[tuple[Key, Node]]

# Dask is annotated in part.
_order: Any = order
_key_split: Any = key_split
_convert: Any = convert_legacy_graph
_settings: Any = config

KINDS_NAMED = 4
"""The name of a chain of more kinds has the first and the last of them."""


def needed_nodes(graph: Any, wanted: Sequence[Key]) -> dict[Key, Node]:
    """The nodes of a graph that some keys need, each after those that it depends on.

    Dask's own order ends branches before it begins new ones, so that little is held at a time.
    """
    described = hasattr(graph, "__dask_graph__")  # as an expression, or in layers
    nodes: dict[Key, Node] = _convert(graph.__dask_graph__() if described else graph)
    found: dict[Key, Node] = {}
    left = list(wanted)
    while left:
        key = left.pop()
        if key not in found:
            node = found[key] = nodes[key]
            left += node.dependencies
    places = _order(found)
    return dict(sorted(found.items(), key=lambda item: places[item[0]]))


def chains(nodes: Mapping[Key, Node], wanted: Sequence[Key]) -> dict[Key, Chain]:
    """The same nodes in chains, by the keys of their ends.

    Each node of a chain reads only the one before, and one call runs all of them. Dask makes chains
    itself for arrays, bags and `delayed`, but not in all of a data frame. Values of the graph stay
    apart: they are sent once, and not with each call.
    """
    fuses = _settings.get("optimization.fuse.active", None) is not False
    readers = Counter(key for node in nodes.values() for key in node.dependencies)
    readers.update(wanted)
    found: dict[Key, Chain] = {}
    for key, node in nodes.items():
        before: Chain = []
        if fuses and len(node.dependencies) == 1:
            (read,) = node.dependencies
            if readers[read] == 1 and not is_data(nodes[read]):
                before = found.pop(read)
        before.append((key, node))
        found[key] = before
    return found


def is_data(node: Node) -> bool:
    """Whether it is a value that is here already."""
    return isinstance(node, DataNode)


def target_of(node: Node) -> Key | None:
    """The key that another key only stands for."""
    return node.target if isinstance(node, Alias) else None


def kind_of(key: Key) -> str:
    """The name that Dask gives to all keys of this kind: "sum" for ("sum-1f0e", 3)."""
    name: str = _key_split(key)
    return name


def name_of(chain: Chain) -> str:
    """The kinds of its keys."""
    if len(chain) == 1:
        return kind_of(chain[0][0])
    kinds = list(dict.fromkeys(kind_of(key) for key, _ in chain))
    return "-".join(kinds if len(kinds) <= KINDS_NAMED else [kinds[0], "...", kinds[-1]])


def flat(keys: Any) -> Iterator[Key]:
    """The keys in nested lists of keys. A tuple is a key."""
    if _is_list(keys):
        for one in keys:
            yield from flat(one)
    else:
        yield keys


def nested(keys: Any, values: Mapping[Key, Any]) -> Any:
    """The values in place of their keys; Dask expects tuples in place of the lists."""
    if _is_list(keys):
        return tuple([nested(one, values) for one in keys])
    return values[keys]


def _is_list(keys: object) -> TypeGuard[list[Any]]:
    return isinstance(keys, list)
