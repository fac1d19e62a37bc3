"""Several servers in the lab: where sessions go, and that nobody is starved or served twice."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.lab.servers import Ring, SessionLoad, Trial, fair_parts, play
from rain.lab.servers_league import compare, table

SESSIONS = [f"session {number}" for number in range(4000)]


def test_servers_have_about_equal_numbers_of_sessions() -> None:
    ring = Ring(8)
    counts = Counter(map(ring.server_of, SESSIONS))
    assert set(counts) == set(range(8))
    assert max(counts.values()) < 1.5 * len(SESSIONS) / 8


def test_a_new_server_takes_sessions_and_moves_no_others() -> None:
    before, after = Ring(4), Ring(5)
    moved = [one for one in SESSIONS if before.server_of(one) != after.server_of(one)]
    assert {after.server_of(one) for one in moved} == {4}
    assert len(moved) < 1.5 * len(SESSIONS) / 5


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8), st.integers(0, 200))
def test_parts_are_equal_but_for_those_who_want_less(wanted: list[int], amount: int) -> None:
    parts = fair_parts(wanted, amount)
    assert sum(parts) == pytest.approx(min(amount, sum(wanted)))
    assert all(part <= want + 1e-9 for part, want in zip(parts, wanted, strict=True))
    most = max(parts)
    for part, want in zip(parts, wanted, strict=True):
        assert part == pytest.approx(want) or part == pytest.approx(most)


def test_one_server_gives_a_session_all_that_it_can_use() -> None:
    demands = [SessionLoad("narrow", 0, 100, 2), SessionLoad("wide", 100, 400, 40)]
    outcome = play(Trial(1, 10, cpus=4), demands)
    assert (outcome.stretch, outcome.makespan) == (1.0, 110.0)


def test_a_session_on_one_of_two_servers_has_half_of_the_cpus_until_they_are_lent() -> None:
    demands = [SessionLoad("alone", 0, 400, 40)]
    assert play(Trial(2, 10), demands).makespan == 20.0
    lending = play(Trial(2, 10, lend_every=1, keeps=0, move_seconds=0), demands)
    assert lending.makespan == pytest.approx(1 + (400 - 20) / 40)
    assert lending.lent == 5


def test_a_small_session_on_a_server_that_has_lent_all_governors_is_not_starved() -> None:
    ring = Ring(2)
    here, there = (next(one for one in SESSIONS if ring.server_of(one) == n) for n in (0, 1))
    demands = [SessionLoad(here, 0, 4000, 40), SessionLoad(there, 10, 5, 1)]
    outcome = play(Trial(2, 10, lend_every=3, keeps=0), demands)
    assert outcome.lent == 7  # five go there, and one comes back for five cpu-seconds


demands_of_all_sorts = st.lists(
    st.builds(
        SessionLoad,
        st.sampled_from(SESSIONS),
        st.floats(0, 50),
        st.floats(1, 500),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=20,
)


@given(demands_of_all_sorts, st.integers(1, 6), st.sampled_from([0.0, 0.25, 1.0]))
def test_all_sessions_end_and_none_is_faster_than_alone(
    demands: list[SessionLoad], servers: int, keeps: float
) -> None:
    for every in (3.0, 1e9):
        outcome = play(Trial(servers, 12, lend_every=every, keeps=keeps), demands)
        assert outcome.stretch >= 1 - 1e-6
        assert outcome.makespan >= sum(one.seconds for one in demands) / 48 - 1e-6


def test_the_comparison_shows_each_scene_with_fixed_and_with_lent_governors() -> None:
    played = compare(numbers=(1, 4))
    assert Counter((one.servers, one.is_lending) for one in played) == {
        (1, False): 4,
        (4, False): 4,
        (4, True): 4,
    }
    assert table(played).row_count == 12
