"""From when on a task is late, by the durations of the others of its name."""

from __future__ import annotations

from math import inf

import pytest

from rain.base.quantiles import Durations
from rain.graph.group import Group
from rain.graph.lateness import Rule, limit_of

RULE = Rule(fraction=0.75, quantile=0.75, factor=2.0, least=0.5)


def group(submitted: int, *durations: float) -> Group:
    sketch = Durations()
    for seconds in durations:
        sketch.add(seconds)
    return Group(submitted, len(durations), sketch)


@pytest.mark.parametrize("submitted", [1, 2, 3, 5])
def test_nobody_is_late_before_three_quarters_have_finished(submitted: int) -> None:
    finished = (1.0,) * (submitted * 3 // 4)
    assert finished == () or len(finished) < 0.75 * submitted
    assert limit_of(group(submitted, *finished), RULE) == inf


def test_then_it_is_a_multiple_of_what_three_of_four_have_taken() -> None:
    assert limit_of(group(4, 1.0, 2.0, 4.0), RULE) == pytest.approx(8.0, rel=0.06)
    assert limit_of(group(5, 1.0, 1.0, 1.0, 9.0), RULE) == pytest.approx(2.0, rel=0.06)


def test_short_tasks_are_not_late_for_trifles() -> None:
    assert limit_of(group(4, 0.01, 0.01, 0.01), RULE) == 0.5


def test_another_rule_counts_in_another_way() -> None:
    hasty = Rule(fraction=0.25, quantile=0.5, factor=1.0, least=0.0)
    assert limit_of(group(4, 3.0), hasty) == pytest.approx(3.0, rel=0.06)


def test_cached_results_alone_tell_nothing() -> None:
    assert limit_of(Group(submitted=4, finished=4), RULE) == inf
