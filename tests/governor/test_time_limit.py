"""A governor that must be gone at some time drains before."""

from __future__ import annotations

from math import inf

import pytest
import trio
from trio.testing import MockClock

from rain.base.errors import StartError
from rain.governor.time_limit import (
    MARGIN,
    SLURM_END,
    drain_in_time,
    leaving_time,
    time_for_tasks,
)

NOW = 1_000_000.0
JOB = {SLURM_END: "1000600"}


def test_the_earlier_of_the_two_limits_counts() -> None:
    assert leaving_time(None, {}, NOW) is None
    assert leaving_time("1:00:00", {}, NOW) == NOW + 3600
    assert leaving_time(None, JOB, NOW) == NOW + 600
    assert leaving_time("5m", JOB, NOW) == NOW + 300
    assert leaving_time("1h", JOB, NOW) == NOW + 600


def test_none_takes_no_notice_of_the_job() -> None:
    assert leaving_time("none", JOB, NOW) is None


def test_an_end_that_is_no_time_is_passed_over() -> None:
    assert leaving_time(None, {SLURM_END: "NONE"}, NOW) is None


def test_a_limit_that_is_no_duration_is_refused_by_name() -> None:
    with pytest.raises(StartError, match="--time-limit: '90' is not a time limit"):
        leaving_time("90", {}, NOW)


def test_the_server_is_told_the_seconds_until_it_has_left() -> None:
    assert time_for_tasks(None, NOW) == inf
    assert time_for_tasks(NOW + 600, NOW) == 600 - MARGIN
    assert time_for_tasks(NOW + 1, NOW) == 0.0


def times_of(seconds_left: float, drain_seconds: float) -> tuple[float, float]:
    """When it begins to drain, and when it must end."""
    begun: list[float] = []

    def leave() -> bool:
        begun.append(trio.current_time())
        return True

    async def run() -> float:
        start = trio.current_time()
        await drain_in_time(seconds_left, drain_seconds, leave)
        (began,) = begun
        begun[:] = [began - start]
        return trio.current_time() - start

    end = trio.run(run, clock=MockClock(autojump_threshold=0))
    return begun[0], end


def test_it_has_all_of_its_seconds_to_drain_and_some_are_left() -> None:
    assert times_of(600.0, 25.0) == pytest.approx((600 - MARGIN - 25, 600 - MARGIN))


def test_with_little_time_left_it_drains_at_once() -> None:
    assert times_of(20.0, 25.0) == pytest.approx((0.0, 20 - MARGIN))
    assert times_of(-3.0, 25.0) == pytest.approx((0.0, 0.0))
