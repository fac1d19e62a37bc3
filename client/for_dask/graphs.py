"""Dask's graphs: what is in them, what of it is needed, and in which order it is best run."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from dask import config
from dask._task_spec import Alias, DataNode, convert_legacy_graph, fuse_linear_task_spec
from dask.order import order
from dask.utils import key_split

Key: TypeAlias = Hashable
Node: TypeAlias = Any  # a GraphNode, of which a mapping of keys and values makes its result

# Dask is annotated in part.
_order: Any = order
_key_split: Any = key_split
_convert: Any = convert_legacy_graph
_fuse: Any = fuse_linear_task_spec
_settings: Any = config


def needed_nodes(graph: Any, wanted: Sequence[Key]) -> dict[Key, Node]:
    """The nodes of a graph that some keys need, each after those that it depends on.

    Dask's own order ends branches before it begins new ones, so that little is held at a time. A
    node that only one other node reads is run by the same call, if that reads nothing else. Dask
    fuses so itself for arrays, bags and `delayed`, but not in all of a data frame.
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
    if _settings.get("optimization.fuse.active", None) is not False:
        # What is here already stays apart: it is sent once, and not with each call.
        apart = [key for key, node in found.items() if is_data(node)]
        found = _fuse(found, {*wanted, *apart})
    places = _order(found)
    return dict(sorted(found.items(), key=lambda item: places[item[0]]))


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
