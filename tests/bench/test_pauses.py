"""What is made of the times at which a client hears of the steps of its work."""

from __future__ import annotations

import os

from bench.pauses import longest_gap, step


def test_a_pause_is_the_longest_time_without_an_answer_after_the_fault() -> None:
    assert longest_gap([1.0, 4.0, 4.5, 6.0, 6.1], hit=4.2) == 1.5


def test_what_had_begun_before_the_fault_counts_from_the_fault_on() -> None:
    assert longest_gap([1.0, 4.0], hit=3.0) == 1.0
    assert longest_gap([1.0, 4.0], hit=4.0) == 0.0


def test_a_step_says_where_it_ran() -> None:
    assert step(None, 3) == (3, os.getpid())
