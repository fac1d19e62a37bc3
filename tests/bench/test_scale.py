"""The arithmetic of what grows; the measurement itself is no test."""

import json

import pytest

from bench.costs import Cost, costs_sheet, curves
from bench.scale import Interruption, Memory, interruption_sheet, memory_sheet, scale_values
from bench.server_alone import Sample
from bench.shapes import merge


def turn(cpu_seconds: float) -> Sample:
    return Sample(merge(99), (0.01,), cpu_seconds)


COSTS = [
    Cost(1, 100, [turn(0.0016), turn(0.001), turn(0.0011)]),
    Cost(10, 100, [turn(0.0012), turn(0.0013), turn(0.0024)]),
]
MEMORY = Memory(1000, before=2**25, open=2**25 + 1_500_000, closed=2**25)
BESIDE = Interruption(100, 1.0, (0.001, 0.25, 0.002), 3)


def test_the_least_costs_are_compared_with_the_cheapest() -> None:
    assert [row[-3:] for row in costs_sheet(COSTS).rows] == [
        ("11.0 µs", "10.0 µs", "+0%"),
        ("13.0 µs", "12.0 µs", "+20%"),
    ]


def test_the_memory_of_a_task_is_what_came_on_top() -> None:
    (row,) = memory_sheet([MEMORY]).rows

    assert row == ("1,000", "32.0 MiB", "33.4 MiB", "1,500 B", "32.0 MiB")


def test_the_longest_wait_of_another_client_is_told() -> None:
    (row,) = interruption_sheet(BESIDE).rows

    assert row == ("100", "1.00 s", "3", "2.0 ms", "250 ms", "3")


def test_there_is_a_line_for_each_number_of_governors() -> None:
    found = curves(COSTS)

    assert list(found) == ["1 governor", "10 governors"]
    ((tasks, microseconds),) = found["10 governors"]
    assert (tasks, microseconds) == pytest.approx((100.0, 12.0))


def test_all_values_can_be_written_as_json() -> None:
    values = json.loads(json.dumps(scale_values(COSTS, [MEMORY], BESIDE)))

    assert values["memory"][0]["bytes_per_task"] == 1500
    assert values["beside"]["waits"] == [0.001, 0.25, 0.002]
