"""Tasks as rows of a table."""

from __future__ import annotations

from typing import Any

import pytest

from rain.server.dashboard import rows as module
from rain.server.dashboard.rows import task_rows
from tests.server.dashboard.stories import by_hand, iso, ran


def numbers(found: dict[str, Any]) -> list[int]:
    return [row["task"] for row in found["tasks"]]


def test_tasks_are_chosen_by_name_and_state() -> None:
    digest = by_hand("load/read", "load/clean", "loader", "merge")
    ran(digest, 10, 100.0, 101.0)

    assert numbers(task_rows(digest)) == [10, 11, 12, 13]
    assert numbers(task_rows(digest, name="load")) == [10, 11]
    assert numbers(task_rows(digest, name="load/clean")) == [11]
    assert numbers(task_rows(digest, state="finished")) == [10]
    assert numbers(task_rows(digest, name="load", state="waiting")) == [11]
    assert numbers(task_rows(digest, name="nothing")) == []


def test_tasks_can_be_had_by_duration_and_by_start() -> None:
    digest = by_hand("a", "a", "a")
    ran(digest, 10, 100.0, 102.0)
    ran(digest, 11, 101.0, 109.0)

    assert numbers(task_rows(digest, order="longest")) == [11, 10, 12]
    assert numbers(task_rows(digest, order="newest")) == [11, 10, 12]


def test_a_long_list_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    digest = by_hand(*["a"] * 5)

    parts = [task_rows(digest, skip=skip) for skip in (0, 2, 4, 6)]

    assert [numbers(part) for part in parts] == [[10, 11], [12, 13], [14], []]
    assert {part["total"] for part in parts} == {5}


def test_a_row_says_where_and_how_long() -> None:
    digest = by_hand("a", "b", "c")
    ran(digest, 10, 100.0, 102.0, "here:1")
    digest.happened([[50, "TaskStarted", 103.0, [11, iso(103.0), None, "here:1", None]]])

    finished, running, waiting = task_rows(digest)["tasks"]

    assert finished == {
        "task": 10,
        "name": "a",
        "state": "finished",
        "governor": "here:1",
        "started": 100.0,
        "seconds": 2.0,
        "runs": 1,
    }
    assert (running["state"], running["seconds"]) == ("running", None)
    assert (waiting["governor"], waiting["started"], waiting["runs"]) == ("", None, 0)
