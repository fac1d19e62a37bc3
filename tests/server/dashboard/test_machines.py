"""How busy machines were, as lines."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rain.base.wire.update import Monitoring as Sample
from rain.server.core.happenings import Monitoring
from rain.server.dashboard import machines as module
from rain.server.dashboard.machines import lines, machines
from rain.server.history.store import FILE, open_store


def sampled(folder: Path, *samples: tuple[float, str, int, int]) -> Path:
    """A log with samples: when, whose, how many percent, and the bytes received until then."""
    happenings = [
        Monitoring(
            time,
            governor,
            Sample((percent, percent + 2), 40, ("lo", "eth0"), (9, received), (9, 0)),
        )
        for time, governor, percent, received in samples
    ]
    with closing(open_store(folder / FILE)) as store:
        store.write(0.0, happenings, 0)
    return folder / FILE


def test_processors_are_averaged_and_the_network_is_a_rate(tmp_path: Path) -> None:
    path = sampled(tmp_path, (9900.0, "a:1", 10, 1000), (9930.0, "a:1", 30, 4000))

    drawn = machines(path, now=10_000.0, minutes=15)

    (line,) = drawn["governors"]
    assert line["governor"] == "a:1"
    assert line["cpu"] == [11.0, 31.0]
    assert line["memory"] == [40.0, 40.0]
    assert line["received"] == [None, 100.0]
    assert line["sent"] == [None, 0.0]
    assert (drawn["since"], drawn["until"]) == (9100.0, 10_000.0)


def test_what_is_older_is_left_out(tmp_path: Path) -> None:
    path = sampled(tmp_path, (1000.0, "old:1", 10, 0), (9990.0, "new:1", 10, 0))

    drawn = machines(path, now=10_000.0, minutes=15)

    assert [line["governor"] for line in drawn["governors"]] == ["new:1"]


def test_many_samples_become_a_bounded_line(tmp_path: Path) -> None:
    path = sampled(tmp_path, *[(9000.0 + place, "a:1", place % 50, place) for place in range(1000)])

    (line,) = machines(path, now=10_000.0, minutes=15)["governors"]

    assert 100 < len(line["times"]) <= module.POINTS + 1


def test_a_counter_that_begins_anew_is_a_gap() -> None:
    drawn = lines([["a:1", 0, 1.0, 2.0, 500, 500], ["a:1", 1, 1.0, 2.0, 20, 900]], 0.0, 10.0)

    assert drawn["governors"][0]["received"] == [None, None]
    assert drawn["governors"][0]["sent"] == [None, 40.0]


def test_some_governors_are_drawn_when_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GOVERNORS", 2)

    drawn = lines([[f"g{place}", 0, 1.0, 2.0, None, None] for place in range(5)], 0.0, 1.0)

    assert (len(drawn["governors"]), drawn["hidden"]) == (2, 3)


def test_without_samples_there_are_no_lines(tmp_path: Path) -> None:
    assert machines(sampled(tmp_path), now=10_000.0, minutes=15)["governors"] == []
