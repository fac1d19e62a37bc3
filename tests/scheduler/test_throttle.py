"""When the scheduler is due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.scheduler.throttle import Thresholds, Throttle

THRESHOLDS = Thresholds(submits=0.01, updates=0.1, nothing=1.0, share=0.5)


def run_at(now: float, took: float = 0.0, thresholds: Thresholds = THRESHOLDS) -> Throttle:
    throttle = Throttle(thresholds)
    throttle.run(now)
    throttle.ran(took)
    return throttle


def test_new_tasks_wait_less_for_a_plan_than_other_news() -> None:
    with pytest.raises(ValueError, match="must not fall"):
        Thresholds(submits=0.2, updates=0.1)


def test_the_first_run_is_due_at_once() -> None:
    assert Throttle().due_at(submits=False, updates=False) == float("-inf")


def test_submits_are_looked_at_soon_updates_later_and_nothing_seldom() -> None:
    throttle = run_at(100.0)
    assert throttle.due_at(submits=True, updates=False) == 100.0 + THRESHOLDS.submits
    assert throttle.due_at(submits=True, updates=True) == 100.0 + THRESHOLDS.submits
    assert throttle.due_at(submits=False, updates=True) == 100.0 + THRESHOLDS.updates
    assert throttle.due_at(submits=False, updates=False) == 100.0 + THRESHOLDS.nothing


def test_a_scheduler_that_has_left_work_for_its_next_run_needs_no_news_for_it() -> None:
    # given
    throttle = run_at(100.0)
    # when
    throttle.run(200.0)
    throttle.again = True
    # then
    assert throttle.due_at(submits=False, updates=False) == 200.0 + THRESHOLDS.submits
    # when: it wants that only until the next run
    throttle.run(300.0)
    # then
    assert throttle.due_at(submits=False, updates=False) == 300.0 + THRESHOLDS.nothing


def test_any_news_count_as_submits_do_for_a_scheduler_that_has_kept_tasks_back() -> None:
    # given
    throttle = run_at(100.0)
    # when
    throttle.run(200.0)
    throttle.soon = True
    # then
    assert throttle.due_at(submits=False, updates=True) == 200.0 + THRESHOLDS.submits
    assert throttle.due_at(submits=False, updates=False) == 200.0 + THRESHOLDS.nothing
    # when: it wants that only until the next run
    throttle.run(300.0)
    # then
    assert throttle.due_at(submits=False, updates=True) == 300.0 + THRESHOLDS.updates


def test_a_long_run_is_followed_by_a_pause_of_the_same_length() -> None:
    throttle = run_at(100.0, took=2.0)
    assert throttle.due_at(submits=True, updates=False) == 100.0 + 2.0 + 2.0


def test_a_smaller_share_means_a_longer_pause() -> None:
    throttle = run_at(0.0, took=1.0, thresholds=Thresholds(share=0.25))
    assert throttle.due_at(submits=True, updates=False) == 1.0 + 3.0


def test_a_new_run_forgets_how_long_the_last_one_took() -> None:
    throttle = run_at(100.0, took=50.0)
    throttle.run(300.0)
    assert throttle.due_at(submits=True, updates=False) == 300.0 + THRESHOLDS.submits


@given(
    durations=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=50),
    share=st.sampled_from([0.1, 0.25, 0.5, 0.9]),
)
def test_the_scheduler_never_takes_more_than_its_share_of_the_time(
    durations: list[float], share: float
) -> None:
    # given: runs as often as allowed, with submits pending all the time
    throttle = Throttle(Thresholds(share=share))
    now = 0.0
    for took in durations:
        throttle.run(now)
        throttle.ran(took)
        now = throttle.due_at(submits=True, updates=True)
    # then
    assert sum(durations) <= share * now + 1e-9
