"""Dask's graphs: which nodes they have, which are needed, and the best order to run them."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from dask import config
from dask.highlevelgraph import HighLevelGraph
from dask.order import order
from dask.utils import key_split

from rain.client.for_dask.chunk_grids import Grid, exact
from rain.client.for_dask.specs import Alias, DataNode, Task, convert_legacy_graph

Key: TypeAlias = Hashable
Node: TypeAlias = Any  # a GraphNode, of which a mapping of keys and values makes its result
Chain: TypeAlias = list[tuple[Key, Node]]

# Dask is annotated in part.
_HighLevelGraph: Any = HighLevelGraph
_order: Any = order
_key_split: Any = key_split
_convert: Any = convert_legacy_graph
_settings: Any = config

KINDS_NAMED = 4
"""The name of a chain of more kinds has the first and the last of them."""


def needed_nodes(graph: Any, wanted: Iterable[Key]) -> dict[Key, Node]:
    """The nodes of a graph that some keys need."""
    described = hasattr(graph, "__dask_graph__")  # as an expression, or in layers
    return reachable(_convert(graph.__dask_graph__() if described else graph), wanted)


def reachable(nodes: Mapping[Key, Node], wanted: Iterable[Key]) -> dict[Key, Node]:
    """Those of the nodes that some keys need."""
    found: dict[Key, Node] = {}
    left = list(wanted)
    while left:
        key = left.pop()
        if key not in found:
            node = found[key] = nodes[key]
            left += node.dependencies
    return found


def ordered(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    """Sorts nodes, each after those that it depends on.

    Dask's own order ends branches before it begins new ones, so that little is held at a time.
    """
    places = _order(nodes)
    return dict(sorted(nodes.items(), key=lambda item: places[item[0]]))


def notes_of(graph: Any) -> dict[str, Mapping[str, Any]]:
    """Dask's notes on the arrays in a graph, by their names."""
    found: dict[str, Mapping[str, Any]] = {}
    left: list[Any] = [graph]
    while left:
        one: Any = left.pop()
        if _has(one, "_parameters"):  # an expression, made of others and of values
            left += one.operands
        layered = one.hlg if _has(one, "hlg") else one
        layers: Mapping[str, Any] = layered.layers if isinstance(layered, _HighLevelGraph) else {}
        for name, layer in layers.items():
            notes: Mapping[str, Any] | None = getattr(layer, "collection_annotations", None)
            if notes:
                found[name] = notes
    return found


def grids_of(notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Grid]:
    """The chunks of arrays by their names, where the notes say how long each chunk is."""
    grids = {name: exact(noted.get("chunks", ())) for name, noted in notes.items()}
    return {name: grid for name, grid in grids.items() if grid is not None}


def _has(value: Any, name: str) -> bool:
    """Whether the type of a value has this attribute. (Some of Dask's values accept any attribute
    name.)
    """
    kind: Any = type(value)
    return hasattr(kind, name)


def chains(nodes: Mapping[Key, Node], wanted: Sequence[Key]) -> dict[Key, Chain]:
    """Splits the nodes into chains, by the keys of their ends.

    Only the first node of a chain reads others than those before it, and only the last is read by
    others than those behind it; one call runs all of them. Dask makes chains itself for arrays,
    bags and `delayed`, but not in all of a data frame. Values of the graph stay apart: they are
    sent once, and not with each call. Exchanges are no calls.
    """
    fuses = may_fuse()
    readers = Counter(key for node in nodes.values() for key in node.dependencies)
    readers.update(wanted)
    found: dict[Key, Chain] = {}

    def may_join(key: Key, count: int) -> bool:
        """Whether a chain may go on with its readers, if it has this number of them."""
        is_chain = key in found and not is_data(nodes[key]) and not is_exchange(nodes[key])
        return is_chain and readers[key] == count

    for key, node in nodes.items():
        before: Chain = []
        read = [*node.dependencies] if fuses and not is_exchange(node) else []
        match read:
            case [only] if may_join(only, 1):
                before = found.pop(only)
            case [one, other]:
                for first, second in ((one, other), (other, one)):
                    if may_join(first, 2) and may_join(second, 1) and _begins(found, second, first):
                        before = found.pop(first) + found.pop(second)
                        break
            case _:
                pass
        before.append((key, node))
        found[key] = before
    return found


def _begins(found: Mapping[Key, Chain], end: Key, key: Key) -> bool:
    """Whether a chain reads this key and nothing else, as what a table is sorted by is read."""
    read: Collection[Key] = found[end][0][1].dependencies
    return [*read] == [key]


def may_fuse() -> bool:
    """Whether Dask's settings let nodes become one."""
    return _settings.get("optimization.fuse.active", None) is not False


def is_data(node: Node) -> bool:
    """Whether a node is a value that is here already."""
    return isinstance(node, DataNode)


def list_pieces(*_: object) -> None:
    """Represents an exchange in graphs; the cluster has a built-in task for it."""


def is_exchange(node: Node) -> bool:
    """Whether a node lists the places of the pieces that other nodes make."""
    return isinstance(node, Task) and getattr(node, "func", None) is list_pieces


def fused(node: Node) -> tuple[dict[Key, Node], Key]:
    """The nodes inside of a fused node, and the key of their result; none if it is not fused."""
    fn: Any = getattr(node, "func", None)
    if getattr(fn, "__name__", "") != "_execute_subgraph":
        return {}, None
    inner, end, *_ = node.args
    return inner, end


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
