"""Medians, spreads and ratios."""

import pytest

from bench.summary import summarize, times_faster


def test_a_summary_keeps_the_middle_and_the_ends() -> None:
    summary = summarize([3.0, 1.0, 2.0])

    assert (summary.median, summary.low, summary.high) == (2.0, 1.0, 3.0)
    assert summary.spread == 1.0


def test_one_measurement_has_no_spread() -> None:
    assert summarize([0.5]).spread == 0.0


def test_a_time_too_short_to_see_has_no_spread() -> None:
    assert summarize([0.0, 0.0]).spread == 0.0


def test_the_best_peer_is_the_one_to_beat() -> None:
    assert times_faster(2.0, [10.0, 4.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(("ours", "peers"), [(1.0, []), (0.0, [1.0])])
def test_there_is_no_ratio_without_two_times(ours: float, peers: list[float]) -> None:
    assert times_faster(ours, peers) is None
