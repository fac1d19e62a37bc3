"""The sketch of durations."""

from __future__ import annotations

from math import ceil
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.quantiles import LAST, SHORTEST, Durations

seconds = st.floats(SHORTEST, 1e6)


def sketch(durations: list[float]) -> Durations:
    made = Durations()
    for duration in durations:
        made.add(duration)
    return made


@given(st.lists(seconds, min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_a_quantile_is_right_within_five_percent(durations: list[float], fraction: float) -> None:
    exact = sorted(durations)[ceil(fraction * len(durations) - 1e-9) - 1]
    assert sketch(durations).quantile(fraction) == pytest.approx(exact, rel=0.06)


@given(st.lists(seconds, max_size=50), st.randoms())
def test_the_order_in_which_they_come_does_not_matter(
    durations: list[float], random: Random
) -> None:
    shuffled = random.sample(durations, len(durations))
    assert sketch(shuffled).buckets == sketch(durations).buckets


@given(st.lists(st.floats(0.0, allow_infinity=False, allow_nan=False)))
def test_it_never_has_more_than_some_hundred_numbers(durations: list[float]) -> None:
    made = sketch(durations)
    assert all(0 <= place <= LAST for place in made.buckets)
    assert made.count == len(durations) == sum(made.buckets.values())


def test_of_nothing_every_quantile_is_nothing() -> None:
    assert Durations().quantile(0.5) == 0.0
