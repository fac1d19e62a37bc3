"""The arithmetic of what grows; the measurement itself is no test."""

import json

import pytest

from bench.costs import (
    Cost,
    costs_sheet,
    curves,
    fewest_governors,
    fewest_tasks,
    pieces_of,
    ratios,
)
from bench.million import Round, million_sheet
from bench.scale import Interruption, Memory, interruption_sheet, memory_sheet, scale_values
from bench.server_alone import Sample
from bench.shapes import merge


def turn(cpu_seconds: float) -> Sample:
    return Sample(merge(99), (0.01,), cpu_seconds)


# The machine is half as fast in the second round, and still so for a moment in the third.
COSTS = [
    Cost(1, 100, [turn(0.001), turn(0.002), turn(0.002)]),
    Cost(10, 100, [turn(0.0012), turn(0.0024), turn(0.0012)]),
    Cost(1, 1000, [turn(0.0011), turn(0.0022), turn(0.0011)]),
]
MEMORY = Memory(1000, before=2**25, open=2**25 + 1_500_000, closed=2**25)
ROUNDS = [Round(11.0, 10.0), Round(24.0, 20.0), Round(12.0, 10.0)]
BESIDE = Interruption(100, 1.0, (0.001, 0.25, 0.002), 3)


def test_costs_are_compared_within_each_round() -> None:
    one, ten, large = COSTS
    assert fewest_governors(ten, COSTS) is one
    assert fewest_tasks(large, COSTS) is one
    assert ratios(ten, one) == pytest.approx([1.2, 1.2, 0.6])


def test_the_middle_of_the_rounds_is_told_and_how_far_its_neighbours_are() -> None:
    assert [row[-4:] for row in costs_sheet(COSTS).rows] == [
        ("20.0 µs", "10.0 µs", "", ""),
        ("12.0 µs", "12.0 µs", "+20% (-10% to +20%)", ""),
        ("11.0 µs", "11.0 µs", "", "+10% (-17% to +10%)"),
    ]


@pytest.mark.parametrize(
    ("tasks", "pieces"),
    [(1_001, [3] * 6 + [2]), (10_001, [1, 1]), (100_001, [1])],
)
def test_clusters_take_turns_with_a_few_thousand_tasks_or_a_session(
    tasks: int, pieces: list[int]
) -> None:
    assert pieces_of(tasks) == pieces


def test_a_single_round_has_no_range() -> None:
    once = [Cost(1, 100, [turn(0.001)]), Cost(10, 100, [turn(0.0012)])]
    assert costs_sheet(once).rows[1][-2:] == ("+20%", "")


def test_a_million_is_compared_with_a_thousand_of_the_same_round() -> None:
    assert million_sheet(ROUNDS).rows == (
        ("1,001", "10.0 µs", "10.0 µs", ""),
        ("1,000,001", "12.0 µs", "11.0 µs", "+20% (+15% to +20%)"),
    )


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
    values = json.loads(json.dumps(scale_values(COSTS, ROUNDS, [MEMORY], BESIDE)))

    assert values["memory"][0]["bytes_per_task"] == 1500
    assert values["beside"]["waits"] == [0.001, 0.25, 0.002]
