"""The parts of the life of a day: what counts as growth, and the work of its clients."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from bench.life.samples import LIMITS, Series
from bench.life.slope import BLOCKS, Slope, fitted
from bench.life.visits import KINDS
from bench.soak.jobs import JOBS
from rain.client import Client

WORK = [float(number) for number in range(400)]


def noisy(growth: float, noise: float) -> list[float]:
    random = Random(7)
    return [50.0 + growth * one + random.gauss(0.0, noise) for one in WORK]


def test_a_line_has_its_slope_and_no_doubt() -> None:
    slope = fitted(WORK, noisy(3.0, 0.0))
    assert slope is not None
    assert slope.growth == pytest.approx(3.0)
    assert slope.bound == pytest.approx(0.0, abs=1e-9)


def test_growth_is_found_below_noise_and_noise_is_no_growth() -> None:
    grows, flat = fitted(WORK, noisy(1.0, 40.0)), fitted(WORK, noisy(0.0, 40.0))
    assert grows is not None
    assert flat is not None
    assert grows.is_above(0.5)
    assert not flat.is_above(0.5)
    assert abs(flat.growth) < flat.bound


def test_what_fills_at_the_beginning_is_no_growth() -> None:
    slope = fitted(WORK, [min(one, 90.0) for one in WORK])
    assert slope == Slope(0.0, 0.0)


def test_few_samples_say_nothing() -> None:
    assert fitted(WORK[:BLOCKS], WORK[:BLOCKS]) is None
    assert fitted([7.0] * 400, WORK) is None


def test_only_what_surely_grows_by_more_than_its_limit_is_a_leak() -> None:
    series, sessions = Series(), count(0, 10)
    for number in range(400):
        flat = dict.fromkeys(LIMITS, 100.0 + number % 3)
        series.add(next(sessions), {**flat, "governor: descriptors": 20.0 + number * 0.1})
    assert series.leaks() == ["governor: descriptors grows by 10.0  for 1,000 sessions"]
    assert len(series.rows()) == 1 + len(LIMITS)


@pytest.mark.parametrize("kind", KINDS.keys() - JOBS.keys() - {"durable"})  # that needs a server
def test_each_kind_of_work_knows_its_answer(kind: str) -> None:
    with Client(local=True) as client:
        found, right = KINDS[kind](client, Random(5))
    assert found == right
