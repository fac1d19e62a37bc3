from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rain.lab.outcome import Outcome, Placement
from rain.lab.plots import Chart, gantt
from rain.lab.svg import ticks
from tests.lab.test_command import lab, refusal

SVG = "{http://www.w3.org/2000/svg}"


def hints(text: str) -> list[str]:
    """What the rectangles of a drawing say when one points at them."""
    root = ET.fromstring(text)
    return [found.text or "" for found in root.iter(f"{SVG}title")]


def texts(text: str) -> list[str]:
    return [found.text or "" for found in ET.fromstring(text).iter(f"{SVG}text")]


def test_a_gantt_chart_shows_every_task_once_and_those_at_the_same_time_below_each_other() -> None:
    # given: two tasks at once on one governor, a third after them, and one elsewhere
    placements = [
        Placement(0, 0, 0.0, 2.0),
        Placement(1, 0, 1.0, 3.0),
        Placement(2, 0, 2.0, 4.0),
        Placement(3, 1, 0.0, 4.0),
    ]
    names = ["a", "b", "a & <b>", "b"]
    chart = Chart("a run", Outcome(makespan=4.0, placements=placements), names, 2)
    # when
    drawn = gantt([chart])
    # then
    assert sorted(hints(drawn)) == [
        "a & <b> 2: 2 to 4 s",
        "a 0: 0 to 2 s",
        "b 1: 1 to 3 s",
        "b 3: 0 to 4 s",
    ]
    assert "a run: 4 s" in texts(drawn)
    found = ET.fromstring(drawn).iter(f"{SVG}rect")
    rows = {r[0].text: float(r.get("y", "")) for r in found if len(r)}
    assert rows["a 0: 0 to 2 s"] == rows["a & <b> 2: 2 to 4 s"] < rows["b 1: 1 to 3 s"]
    assert rows["b 1: 1 to 3 s"] < rows["b 3: 0 to 4 s"]


def test_the_command_draws_what_it_was_asked_for(tmp_path: Path) -> None:
    # when
    chart, bars = tmp_path / "gantt.svg", tmp_path / "bars.svg"
    words = ["fork1:count=5", "-s", "rain", "-s", "round-robin", "--estimates", "exact,none"]
    assert lab(*words, "--gantt", str(chart), "--bars", str(bars)).exit_code == 0
    # then: fifteen tasks in four runs
    assert len(hints(chart.read_text())) == 4 * 15
    assert {text for text in texts(bars.read_text()) if "," in text and "Makespan" not in text} == {
        "rain, exact",
        "rain, none",
        "round-robin, exact",
        "round-robin, none",
    }
    assert "all graphs" in texts(bars.read_text())


def test_too_many_runs_for_one_drawing_are_refused_before_they_run(tmp_path: Path) -> None:
    words = ["fork1", "--repeat", "13", "--gantt", str(tmp_path / "g.svg")]
    assert refusal(*words) == "--gantt draws 12 runs at most, and these are 13"
    nowhere = str(tmp_path / "none" / "x.svg")
    assert "cannot write" in refusal("fork1:count=2", "--bars", nowhere)


@pytest.mark.parametrize(
    ("end", "last", "count"), [(0.3, 0.3, 7), (1, 1, 11), (7, 7, 8), (99, 90, 10), (0, 0, 1)]
)
def test_an_axis_has_round_numbers(end: float, last: float, count: int) -> None:
    found = ticks(end)
    assert (found[-1], len(found)) == (last, count)
