"""The drawing of a task graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import unpack
from rain.server.dashboard import digest as digest_module
from rain.server.dashboard import shape as module
from rain.server.dashboard.shape import layers, shape
from tests.server.dashboard.stories import by_hand, story

SMALL_GRAPHS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


def test_a_small_graph_has_every_task_and_object(tmp_path: Path) -> None:
    tale = story(tmp_path)
    draft = tale.client.session()
    constant = draft.constant()
    first, (made,) = draft.task(constant)
    second, (last,) = draft.task(made)
    tale.client.submit(draft)
    tale.governors[0].finish(first)

    drawn = shape(tale.digest(draft.session))

    assert drawn["single"]
    nodes = {node["id"]: node for node in drawn["nodes"]}
    expected = [unpack(each).id for each in (constant, first, made, second, last)]
    assert sorted(nodes) == sorted(expected)
    assert [nodes[each]["layer"] for each in expected] == [0, 1, 2, 3, 4]
    assert [nodes[each]["kind"] for each in expected] == ["object", "task"] * 2 + ["object"]
    assert [nodes[each]["state"] for each in expected] == ["finished"] * 3 + ["waiting"] * 2


def test_a_large_graph_is_drawn_by_name_with_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_module, "SMALL", 2)
    digest = by_hand("load", "load", "merge")
    digest.learn([[10, "load", [], [[1, 20]]], [11, "load", [], [[1, 21]]]])
    digest.learn([[12, "merge", [{"id": [1, 20]}, {"id": [1, 21]}], []]])

    drawn = shape(digest)

    assert not drawn["single"]
    assert [(node["name"], node["total"], node["layer"]) for node in drawn["nodes"]] == [
        ("load", 2, 0),
        ("merge", 1, 1),
    ]
    assert drawn["links"] == [[1, 2, 2]]


def test_the_names_with_the_most_tasks_are_drawn_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(digest_module, "SMALL", 2)
    monkeypatch.setattr(module, "MOST_NAMES", 2)

    drawn = shape(by_hand("a", "b", "b", "c", "c"))

    assert [node["name"] for node in drawn["nodes"]] == ["b", "c"]
    assert drawn["hidden"] == 1


@given(SMALL_GRAPHS)
def test_links_point_to_later_layers_when_there_is_no_circle(links: list[tuple[int, int]]) -> None:
    forward = [(min(link), max(link)) for link in links if link[0] != link[1]]

    places = layers(range(13), forward)

    assert set(places) == set(range(13))
    assert all(places[source][0] < places[target][0] for source, target in forward)
    assert len(set(places.values())) == 13


@given(SMALL_GRAPHS)
def test_circles_are_drawn_too(links: list[tuple[int, int]]) -> None:
    places = layers(range(13), links)

    assert len(set(places.values())) == 13


def test_a_chain_of_many_layers_needs_no_recursion() -> None:
    places = layers(range(5000), [(place, place + 1) for place in range(4999)])

    assert places[4999] == (4999, 0)
