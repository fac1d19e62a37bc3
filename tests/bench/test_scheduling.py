"""Every scheduler gets through the benchmark of decisions; how fast is no test."""

from __future__ import annotations

import pytest

from bench.scheduling import Cost, build, measure, sheets, submit, values_of
from rain.graph import check
from rain.scheduler.shipped import SCHEDULERS


@pytest.mark.parametrize("name", SCHEDULERS)
def test_both_curves_are_measured(name: str) -> None:
    costs = list(measure([name], [30], [3], repeat=2))
    assert [(cost.curve, cost.tasks, cost.governors) for cost in costs] == [
        ("burst", 30, 3),
        ("steady", 30, 100),
    ]
    assert all(len(cost.seconds) == 2 for cost in costs)


def test_the_burst_is_planned_on_a_graph_that_is_consistent() -> None:
    bench, session, news = build("rain", 3)
    news.submitted += submit(bench.graph, session, 40, chain=10)
    bench.plan(news)
    check(bench.graph)
    assert all(task.scheduled is not None for task in bench.graph.tasks.values())


def test_the_tables_show_both_curves() -> None:
    costs = [
        Cost("mine", "burst", 1000, 10, (0.5, 0.25)),
        Cost("mine", "steady", 1000, 100, (0.0001,)),
    ]
    first, second = sheets(costs)
    assert first.rows == (("mine", "1,000", "10", "0.375 ±33%", "375.0 µs"),)
    assert second.rows == (("mine", "1,000", "100 µs ±0%"),)
    assert values_of(costs[0])["seconds"] == [0.5, 0.25]
