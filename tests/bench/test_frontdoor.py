"""The rows of the front door's benchmark compute what they say, with Rain and with loky."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from bench.doors import DOORS, Door
from bench.frontdoor import SIZES, quantities
from bench.runners import SYSTEMS
from bench.runners.loky import LokyRunner
from bench.runners.ours import RainRunner
from bench.shapes import WrongAnswer
from rain.client import Client

FEW = 16
CALLBACK = "callback, p90"
OURS = [pytest.param(doors["rain"], id=name) for name, doors in DOORS if name != CALLBACK]


@pytest.fixture(scope="module")
def runner() -> Generator[RainRunner]:
    with Client(cpus=2) as client:
        yield RainRunner(client)


def test_each_row_has_a_size_and_says_how_rain_and_known_peers_do_it() -> None:
    assert [name for name, _ in DOORS] == [*SIZES]
    assert [quantity.name for quantity in quantities(SIZES)] == [*SIZES]
    for _, doors in DOORS:
        assert "rain" in doors
        assert doors.keys() <= SYSTEMS.keys()


@pytest.mark.parametrize("door", OURS)
def test_each_row_of_rain_checks_its_answer_and_takes_time(door: Door, runner: RainRunner) -> None:
    assert door(runner, FEW) > 0


def test_a_callback_may_come_before_its_result_is_returned(runner: RainRunner) -> None:
    assert dict(DOORS)[CALLBACK]["rain"](runner, FEW) >= 0


def test_loky_runs_the_calls_of_joblib() -> None:
    (doors,) = [doors for name, doors in DOORS if name == "joblib"]
    assert doors["loky"](LokyRunner(), FEW) > 0


@pytest.mark.parametrize("name", ["map and gather", "as_completed", "wait for all", CALLBACK])
def test_a_wrong_answer_is_no_figure(
    name: str, monkeypatch: pytest.MonkeyPatch, runner: RainRunner
) -> None:
    monkeypatch.setattr("bench.doors.inc", abs)
    with pytest.raises(WrongAnswer):
        dict(DOORS)[name]["rain"](runner, FEW)
