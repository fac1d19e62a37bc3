"""What ran when and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.server.dashboard import timeline as module
from rain.server.dashboard.digest import Digest
from rain.server.dashboard.timeline import timeline
from tests.server.dashboard.stories import by_hand, iso, ran


def drawn(digest: Digest, since: float | None = None, until: float | None = None) -> dict[str, Any]:
    return timeline(digest, 200.0, since, until)


def test_tasks_that_overlap_have_lanes_of_their_own() -> None:
    digest = by_hand("a", "a", "a")
    ran(digest, 10, 100.0, 110.0)
    ran(digest, 11, 105.0, 115.0)
    ran(digest, 12, 112.0, 120.0)

    seen = drawn(digest)

    (governor,) = seen["governors"]
    assert governor["lanes"] == 2
    assert [(bar[0], bar[3]) for bar in governor["bars"]] == [(0, 10), (1, 11), (0, 12)]
    assert (seen["since"], seen["until"]) == (100.0, 120.0)


def test_each_governor_has_a_row() -> None:
    digest = by_hand("a", "a")
    ran(digest, 10, 100.0, 101.0, "two:1")
    ran(digest, 11, 100.0, 103.0, "one:1")

    rows = drawn(digest)["governors"]

    assert [(row["governor"], row["seconds"]) for row in rows] == [("one:1", 3.0), ("two:1", 1.0)]


def test_a_task_that_runs_reaches_until_now() -> None:
    digest = by_hand("a")
    digest.happened([[5, "TaskStarted", 150.0, [10, iso(150.0), None, "one:1", None]]])

    assert drawn(digest)["governors"][0]["bars"][0][1:3] == (150.0, 200.0)


def test_only_what_ran_in_the_time_is_drawn() -> None:
    digest = by_hand("a", "a", "a")
    for number, start in ((10, 100.0), (11, 120.0), (12, 140.0)):
        ran(digest, number, start, start + 10.0)

    seen = drawn(digest, 125.0, 135.0)

    assert [bar[3] for bar in seen["governors"][0]["bars"]] == [11]
    assert (seen["since"], seen["until"]) == (125.0, 135.0)


def test_the_summary_of_many_tasks_tells_how_many_ran_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_BARS", 3)
    monkeypatch.setattr(module, "BUCKETS", 4)
    digest = by_hand("a", "a", "a", "a")
    for number in (10, 11):
        ran(digest, number, 100.0, 102.0)
    ran(digest, 12, 102.0, 103.0)
    ran(digest, 13, 100.0, 104.0)

    seen = drawn(digest)

    assert not seen["single"]
    assert seen["governors"][0]["busy"] == pytest.approx([3.0, 3.0, 2.0, 1.0])


def test_the_busiest_governors_are_drawn_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_GOVERNORS", 2)
    digest = by_hand("a", "a", "a")
    for number, seconds in ((10, 1.0), (11, 3.0), (12, 2.0)):
        ran(digest, number, 100.0, 100.0 + seconds, f"g{number}:1")

    seen = drawn(digest)

    assert [row["governor"] for row in seen["governors"]] == ["g11:1", "g12:1"]
    assert seen["hidden_governors"] == 1


def test_a_session_in_which_nothing_ran_has_an_empty_one() -> None:
    assert drawn(by_hand("a"))["governors"] == []
    assert drawn(Digest(1), 0.0, 10.0)["governors"] == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=30))
def test_bars_of_one_lane_never_overlap(spans: list[tuple[int, int]]) -> None:
    digest = by_hand(*["a"] * len(spans))
    for place, (start, length) in enumerate(spans):
        ran(digest, 10 + place, 100.0 + start, 100.0 + start + length)

    for row in drawn(digest)["governors"]:
        free: dict[int, float] = {}
        for lane, start, end, *_ in row["bars"]:
            assert start >= free.get(lane, 0.0) - 0.001
            free[lane] = end
        assert sorted(free) == list(range(row["lanes"]))
