"""What goes first when the event log is too old or too large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.server.history.retention import Facts, Going, Keep, Next, next_to_go

NOW = 1000.0
TIMES = st.none() | st.floats(0.0, NOW)


def what(keep: Keep, facts: Facts) -> Going | None:
    chosen = next_to_go(keep, facts, NOW)
    return None if chosen is None else chosen.what


@pytest.mark.parametrize(
    ("session_over", "loose", "goes"),
    [
        (100.0, 200.0, Going.SESSION),
        (200.0, 100.0, Going.LOOSE),
        (100.0, None, Going.SESSION),
        (None, 100.0, Going.LOOSE),
        (None, None, Going.ANY),
    ],
)
def test_the_oldest_goes_first_when_there_is_too_much(
    session_over: float | None, loose: float | None, goes: Going
) -> None:
    facts = Facts(used=11, session_over=session_over, loose=loose)

    assert what(Keep(bytes=10), facts) is goes


def test_what_is_within_the_limit_stays() -> None:
    assert next_to_go(Keep(bytes=10), Facts(10, 1.0, 1.0), NOW) is None


def test_what_is_too_old_goes_however_little_it_is() -> None:
    keep = Keep(seconds=100.0, bytes=None)

    assert next_to_go(keep, Facts(1, 899.0, 950.0), NOW) == Next(Going.SESSION, 900.0)
    assert next_to_go(keep, Facts(1, 950.0, 899.0), NOW) == Next(Going.LOOSE, 900.0)
    assert next_to_go(keep, Facts(1, 900.0, 950.0), NOW) is None


def test_what_belongs_to_no_session_goes_only_as_far_as_the_oldest_session() -> None:
    assert next_to_go(Keep(bytes=10), Facts(11, 500.0, 100.0), NOW) == Next(Going.LOOSE, 500.0)


@given(st.integers(0, 10**15), TIMES, TIMES)
def test_without_limits_all_stays(used: int, over: float | None, loose: float | None) -> None:
    assert next_to_go(Keep(None, None), Facts(used, over, loose), NOW) is None


@given(TIMES, TIMES)
def test_events_of_open_sessions_never_go_for_their_age(
    over: float | None, loose: float | None
) -> None:
    assert what(Keep(0.0, None), Facts(1, over, loose)) is not Going.ANY
