"""The rule of scaling under bursts, beside those of others: it never flaps, and it is not worse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.lab.bursts import Arrival, Scene, Weather, scenes
from rain.lab.scalers import Adaptive, Backlog, Rain
from rain.lab.scaling import PlayedScaling, ScalingRule, play
from rain.lab.scaling_league import compare, table

WORSE = 1.1
"""How much longer the work may take than with the better one of the others, in each scene."""


@pytest.fixture(scope="module")
def played() -> dict[tuple[str, str], PlayedScaling]:
    return {(one.scene, one.scaler): one for one in compare()}


def of(
    played: dict[tuple[str, str], PlayedScaling], rule: Callable[[], ScalingRule]
) -> list[PlayedScaling]:
    name = rule().name
    return [one for (_, scaler), one in played.items() if scaler == name]


def test_ours_never_flaps_and_the_count_can_see_it(
    played: dict[tuple[str, str], PlayedScaling],
) -> None:
    assert [one.flaps for one in of(played, Rain)] == [0] * len(scenes())
    assert sum(one.flaps for one in of(played, Adaptive)) > 100


def test_ours_takes_no_longer_than_the_better_of_the_others_by_more_than_a_tenth(
    played: dict[tuple[str, str], PlayedScaling],
) -> None:
    others = zip(of(played, Adaptive), of(played, Backlog), strict=True)
    for ours, (one, other) in zip(of(played, Rain), others, strict=True):
        assert ours.makespan <= WORSE * min(one.makespan, other.makespan), ours.scene


def test_ours_costs_no_more_than_the_rule_that_waits_as_long_for_more_work(
    played: dict[tuple[str, str], PlayedScaling],
) -> None:
    ours = sum(one.paid for one in of(played, Rain))
    assert ours <= sum(one.paid for one in of(played, Backlog))


def test_the_table_has_a_row_for_each_scene_and_rule(
    played: dict[tuple[str, str], PlayedScaling],
) -> None:
    assert table(list(played.values())).row_count == 3 * (len(scenes()) + 1)


def test_a_scene_is_played_in_the_same_way_each_time() -> None:
    scene = scenes()[6]
    assert play(scene, Rain()) == play(scene, Rain())


@settings(max_examples=30)
@given(
    arrivals=st.lists(
        st.builds(Arrival, st.floats(0, 300), st.integers(1, 60), st.floats(0.1, 60)),
        min_size=1,
        max_size=5,
    ),
    waits=st.lists(st.floats(0, 120), min_size=1, max_size=5),
    most=st.integers(1, 8),
)
def test_all_work_is_done_within_the_limits_and_without_flapping(
    arrivals: list[Arrival], waits: list[float], most: int
) -> None:
    weather = Weather(lambda number: waits[number % len(waits)])
    found = play(Scene("drawn", tuple(arrivals), weather, most=most), Rain())

    assert found.makespan >= max(one.time + one.seconds for one in arrivals) - 1e-9
    assert found.most <= most
    assert found.flaps == 0
