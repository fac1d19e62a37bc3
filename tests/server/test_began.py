"""When tasks have begun that were told of together, at their ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rain.server.began import starts


def test_one_behind_the_other_on_one_cpu() -> None:
    assert starts(10.0, [1.0, 2.0, 3.0], 1) == [4.0, 5.0, 7.0]


def test_as_many_at_a_time_as_there_are_cpus() -> None:
    assert starts(10.0, [1.0, 1.0, 1.0, 1.0], 2) == [8.0, 8.0, 9.0, 9.0]


def test_those_that_fit_side_by_side_have_all_ended_now() -> None:
    assert starts(10.0, [1.0, 2.0], 2) == [9.0, 8.0]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.integers(1, 8))
def test_never_more_at_a_time_than_there_are_lanes(seconds: list[int], lanes: int) -> None:
    now = 100_000.0
    began = starts(now, [float(each) for each in seconds], lanes)
    spans = [(start, start + each) for start, each in zip(began, seconds, strict=True)]
    assert all(end <= now for _, end in spans)
    for moment in {start for start, _ in spans}:
        assert sum(start <= moment < end for start, end in spans) <= lanes
