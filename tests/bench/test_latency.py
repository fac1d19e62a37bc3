"""What is made of the seconds of single calls."""

import pytest

from bench.latency import call_often, percentile
from bench.shapes import WrongAnswer


def test_a_percentile_is_not_exceeded_by_that_share_of_samples() -> None:
    samples = [float(i) for i in range(101)]

    assert [percentile(samples, which) for which in (50, 90, 99)] == [50, 90, 99]


def test_one_sample_is_every_percentile() -> None:
    assert percentile([2.0], 99) == 2.0


def test_every_call_has_its_own_seconds() -> None:
    samples = call_often(lambda number: number + 1, rounds=5)

    assert len(samples) == 5
    assert all(sample >= 0 for sample in samples)


def test_a_wrong_answer_is_no_sample() -> None:
    with pytest.raises(WrongAnswer, match="call 0 gave 5"):
        call_often(lambda number: 5, rounds=2)
