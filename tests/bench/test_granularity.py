"""What is made of runs of rows of tasks."""

import pytest

from bench.granularity import ELSEWHERE, curves, efficiency, measure, rows_of, told_of_others
from bench.results import Results
from bench.runners import System
from bench.shapes import independent
from tests.bench import played


def test_every_try_is_told_as_it_is_made_and_the_answer_at_last() -> None:
    system = System("played", "tests.bench.played", "concurrent", "")
    options = {"cpus": 2, "width": 4, "steps": 10, "parts": 4, "patterns": ["stencil"]}

    figures = list(measure(system, played.PlayedRunner(), options))

    names = [name for name, _, _ in figures]
    assert names[:2] == ["stencil of 1,000 µs", ELSEWHERE]
    (points,) = [detail for name, _, detail in figures if name == "stencil, 50 % efficient from"]
    assert isinstance(points, list)
    tried = [name for name in names if name.startswith("stencil of")]
    assert tried == [f"stencil of {microseconds:,} µs" for microseconds, _ in points]


def test_long_tasks_have_fewer_rows_but_never_too_few() -> None:
    assert rows_of(8, 40, 1_000, cpus=2) == 40
    assert rows_of(8, 40, 25_000, cpus=2) == 10
    assert rows_of(8, 40, 200_000, cpus=2) == 5
    assert rows_of(8, 3, 200_000, cpus=2) == 3


def test_a_busy_machine_is_told_of_and_a_quiet_one_is_not() -> None:
    def told(*cpus: float) -> str:
        return told_of_others(Results((), ("rain",), {}, {"rain": {ELSEWHERE: list(cpus)}}))

    assert told(1.0, 0.5).startswith("Other programs used 0.75 cpus")
    assert told(0.01, 0.02) == ""
    assert told() == ""


def test_all_cpus_in_tasks_all_the_time_is_one() -> None:
    assert efficiency(independent(10), 1000, cpus=2, seconds=0.005) == pytest.approx(1.0)


def test_a_curve_holds_the_points_of_all_turns_from_short_to_long() -> None:
    details: dict[str, dict[str, list[object]]] = {
        "rain": {"stencil, 50 % efficient from": [[[2000, 0.6], [1000, 0.4]], [[500, 0.2]]]},
        "dask": {},
    }

    assert curves(details, "stencil") == {"rain": [(0.5, 0.2), (1.0, 0.4), (2.0, 0.6)]}
