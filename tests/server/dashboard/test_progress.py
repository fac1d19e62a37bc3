"""How far a session is."""

from __future__ import annotations

import pytest

from rain.server.dashboard import progress
from rain.server.dashboard.digest import Digest
from tests.server.dashboard.stories import by_hand, iso, ran


def test_tasks_are_counted_by_name_with_mean_deviation_and_share() -> None:
    digest = by_hand("load", "load", "merge", "merge")
    ran(digest, 10, 100.0, 101.0)
    ran(digest, 11, 100.0, 103.0)
    ran(digest, 12, 103.0, 107.0)
    digest.happened([[90, "TaskStarted", 107.0, [13, iso(107.0), None, "one:1", None]]])

    load, merge = progress.groups(digest)

    assert (load["name"], load["total"], load["finished"]) == ("load", 2, 2)
    assert load["mean"] == pytest.approx(2.0)
    assert load["deviation"] == pytest.approx(1.0)
    assert load["share"] == pytest.approx(0.5)
    assert (merge["total"], merge["finished"], merge["running"]) == (2, 1, 1)
    assert merge["deviation"] == pytest.approx(0.0)
    assert progress.counts(digest) == {
        "waiting": 0,
        "running": 1,
        "finished": 3,
        "failed": 0,
        "skipped": 0,
        "cancelled": 0,
    }


def test_a_name_without_finished_tasks_has_no_mean() -> None:
    (group,) = progress.groups(by_hand("load"))

    assert (group["mean"], group["deviation"], group["share"]) == (None, None, 0.0)


def test_the_lines_over_time_fall_as_tasks_finish() -> None:
    digest = by_hand("a", "b")
    ran(digest, 10, 100.0, 102.0)
    ran(digest, 11, 101.0, 104.0)

    drawn = progress.over_time(digest, now=104.0, points=5)

    assert drawn["times"] == [100.0, 101.0, 102.0, 103.0, 104.0]
    assert drawn["unfinished"] == [2, 2, 1, 1, 0]
    assert drawn["running"] == [1, 2, 1, 1, 0]


def test_later_submissions_raise_the_line() -> None:
    digest = by_hand("a")
    ran(digest, 10, 100.0, 101.0)
    digest.submitted(102.0, 3, 0)

    drawn = progress.over_time(digest, now=104.0, points=5)

    assert drawn["unfinished"] == [1, 0, 3, 3, 3]


def test_a_session_that_nobody_knows_is_unknown_and_empty() -> None:
    seen = progress.summary(Digest(7), now=100.0, read=1.0)

    assert (seen["status"], seen["tasks"], seen["groups"]) == ("unknown", 0, [])


@pytest.mark.parametrize(
    ("reason", "status"),
    [("", "open"), ("ClientClose", "closed"), ("Error", "failed"), ("ServerLost", "server lost")],
)
def test_a_status_is_a_word(reason: str, status: str) -> None:
    assert progress.status(reason) == status
