"""All that a graph says, as plain values that can be compared before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from rain.graph import Client, DataObject, Governor, Graph, Session, Task, Wait
from rain.graph.copy import Copy
from rain.graph.handles import Handles, Member
from rain.graph.ready_queue import ReadyQueue
from rain.graph.session import Learned

NODES = (Client, DataObject, Governor, Session, Task)


def snapshot(graph: Graph, without: Collection[str] = ()) -> dict[str, Any]:
    """Every field of every node but these, other nodes by their ids."""
    return {
        field.name: _spread(getattr(graph, field.name), without)
        for field in attrs.fields(Graph)
        if field.name not in without
    }


def _spread(value: Any, without: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value
        return [(plain(key), _fields(node, without)) for key, node in entries.items()]
    return plain(value)


def _fields(node: Any, without: Collection[str]) -> Any:
    kind: type = type(node)
    if not attrs.has(kind):
        return plain(node)
    return {
        field.name: plain(getattr(node, field.name))
        for field in attrs.fields(kind)
        if field.name not in without
    }


def plain(value: Any) -> Any:
    kind: type = type(value)
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, NODES):
        return type(value).__name__, value.id
    if isinstance(value, Wait):
        return "Wait", value.request, value.remaining
    if isinstance(value, Mapping):
        entries: Mapping[Any, Any] = value
        return [(plain(key), plain(other)) for key, other in entries.items()]
    if isinstance(value, set):
        members: set[Any] = value
        return sorted(members)
    if isinstance(value, (ReadyQueue, Iterable)):
        items: Iterable[Any] = value
        return [plain(item) for item in items]
    return _record(value) if attrs.has(kind) else value


def _record(value: Any) -> Any:
    if isinstance(value, Member):
        return value.client, [node.id for node in value.nodes]
    if isinstance(value, Handles):
        return [_record(handle) for handle in value.each]
    if isinstance(value, Copy):
        return value.object.id, value.governor.id, value.row, value.tries
    if isinstance(value, Learned):  # `least` is a scheduler's own note
        return value.finished, value.seconds, value.bytes
    kind: type = type(value)
    return tuple([plain(getattr(value, field.name)) for field in attrs.fields(kind)])
