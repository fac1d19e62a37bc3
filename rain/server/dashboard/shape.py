"""The graph of a session as a drawing in layers: single tasks while they are few, else by name.

The layer is the distance from the start. Names can form cycles (if tasks of one name are both
before and after those of another); links that point back are ignored for the layers but drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rain.server.dashboard.digest import SMALL, Digest, LoggedState
from rain.server.dashboard.progress import groups

MOST_NAMES = 80
MOST_LINKS = 400

Link = tuple[int, int]


def shape(digest: Digest) -> dict[str, Any]:
    """Nodes with their positions, and links between them."""
    if digest.arrows is not None and len(digest.columns.mark) <= 4 * SMALL + 100:
        return _whole(digest, digest.arrows)
    return _by_name(digest)


def _whole(digest: Digest, arrows: list[Link]) -> dict[str, Any]:
    columns = digest.columns
    known = [place for place, mark in enumerate(columns.mark) if mark != LoggedState.UNKNOWN]
    drawn = layers(known, arrows)
    made = {link[1] for link in arrows if columns.mark[link[0]] == LoggedState.FINISHED}
    produced = {link[1] for link in arrows if columns.mark[link[1]] == LoggedState.OBJECT}
    nodes: list[dict[str, Any]] = []
    for place in known:
        mark = LoggedState(columns.mark[place])
        is_object = mark is LoggedState.OBJECT
        state = mark.name.lower()
        if is_object:
            state = "finished" if place in made or place not in produced else "waiting"
        layer, row = drawn[place]
        nodes.append(
            {
                "id": columns.number(place),
                "kind": "object" if is_object else "task",
                "name": digest.groups.texts[columns.group[place]],
                "state": state,
                "layer": layer,
                "row": row,
            }
        )
    links = [[columns.number(source), columns.number(target), 1] for source, target in arrows]
    return {"single": True, "nodes": nodes, "links": links, "hidden": 0}


def _by_name(digest: Digest) -> dict[str, Any]:
    known = {group["name"]: group for group in groups(digest)}
    numbers = {digest.groups.texts.index(name): group for name, group in known.items()}
    largest = sorted(numbers, key=lambda number: -numbers[number]["total"])[:MOST_NAMES]
    shown = set(largest)
    heavy = sorted(digest.links.items(), key=lambda item: (-item[1], item[0]))
    links = [(link, many) for link, many in heavy if shown.issuperset(link)][:MOST_LINKS]
    places = layers(sorted(shown), [link for link, _ in links])
    nodes = [
        {"id": number, "kind": "group", "layer": places[number][0], "row": places[number][1]}
        | numbers[number]
        for number in sorted(shown)
    ]
    return {
        "single": False,
        "nodes": nodes,
        "links": [[*link, many] for link, many in links],
        "hidden": len(numbers) - len(shown),
    }


def layers(nodes: Iterable[int], links: Iterable[Link]) -> dict[int, tuple[int, int]]:
    """The layer and the row of every node, chosen so that few links cross."""
    after: dict[int, list[int]] = {node: [] for node in nodes}
    for source, target in dict.fromkeys(links):
        if source != target and source in after and target in after:
            after[source].append(target)
    order = _forward(after)
    position = {node: place for place, node in enumerate(order)}
    layer = dict.fromkeys(order, 0)
    before: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for target in after[node]:
            if position[target] > position[node]:
                layer[target] = max(layer[target], layer[node] + 1)
                before[target].append(node)
    rows: dict[int, list[int]] = {}
    for node in order:
        rows.setdefault(layer[node], []).append(node)
    row: dict[int, int] = {}
    for each in sorted(rows):
        middle = {
            node: float(np.mean([row[source] for source in before[node]])) if before[node] else 0.0
            for node in rows[each]
        }
        ordered = sorted(rows[each], key=lambda node: middle[node])
        row |= {node: place for place, node in enumerate(ordered)}
    return {node: (layer[node], row[node]) for node in order}


def _forward(after: dict[int, list[int]]) -> list[int]:
    """An order of nodes in which all links point forward, except those that close a cycle."""
    finished: list[int] = []
    seen: set[int] = set()
    for root, first in after.items():
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(first))]
        while stack:
            node, targets = stack[-1]
            target = next((each for each in targets if each not in seen), None)
            if target is None:
                finished.append(node)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(after[target])))
    finished.reverse()
    return finished
