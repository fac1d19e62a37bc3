"""How soon a server that was away is found again, and how often it is looked for."""

from __future__ import annotations

import pytest

from rain.rpc.looking import LONGEST, SHARE, SHORTEST, until_next_look


@pytest.mark.parametrize("away", [0.0, 0.3, 1.0, 5.0, 20.0, 600.0])
def test_a_server_is_found_within_a_quarter_of_the_time_that_it_was_away(away: float) -> None:
    for chance in (0.0, 0.5, 1.0):
        assert until_next_look(away, chance) <= max(SHARE * away, SHORTEST)


def test_a_server_that_stays_away_is_looked_for_ever_more_seldom() -> None:
    away, looks = 0.0, 0
    while away < 60.0:
        away, looks = away + until_next_look(away, 1.0), looks + 1
    assert looks < 60
    assert until_next_look(away, 1.0) == until_next_look(10 * away, 1.0) == LONGEST


def test_chance_parts_those_that_have_lost_it_together() -> None:
    assert until_next_look(4.0, 0.0) < until_next_look(4.0, 0.5) < until_next_look(4.0, 1.0)
