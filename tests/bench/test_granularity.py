"""The search for the shortest tasks that are worth it, on systems that are formulas."""

from collections.abc import Callable

import pytest

from bench.granularity import LONGEST, curves, efficiency, search
from bench.shapes import independent


def with_overhead(microseconds: float) -> Callable[[int], float]:
    return lambda length: length / (length + microseconds)


@pytest.mark.parametrize("overhead", [50, 300, 1_000, 12_900, 99_000])
def test_half_of_the_time_is_work_when_tasks_are_as_long_as_their_overhead(overhead: int) -> None:
    found, tried = search(with_overhead(overhead))

    assert found == pytest.approx(overhead, rel=0.01)
    assert len(tried) < 20


def test_what_is_efficient_at_once_needs_no_search() -> None:
    found, tried = search(lambda length: 0.9)

    assert found == tried[0].microseconds


def test_what_is_never_efficient_has_no_answer() -> None:
    found, tried = search(lambda length: 0.1)

    assert found is None
    assert tried[-1].microseconds == LONGEST


def test_all_cpus_in_tasks_all_the_time_is_one() -> None:
    assert efficiency(independent(10), 1000, cpus=2, seconds=0.005) == pytest.approx(1.0)


def test_a_curve_holds_the_points_of_all_turns_from_short_to_long() -> None:
    details: dict[str, dict[str, list[object]]] = {
        "rain": {"stencil, 50 % efficient from": [[[2000, 0.6], [1000, 0.4]], [[500, 0.2]]]},
        "dask": {},
    }

    assert curves(details, "stencil") == {"rain": [(0.5, 0.2), (1.0, 0.4), (2.0, 0.6)]}
