"""Time limits as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.durations import parse_duration, say_duration, spell_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1:00:00", 3600),
        ("90:00", 5400),
        ("2-12:00:00", 216_000),
        ("30s", 30),
        ("90m", 5400),
        ("2 h", 7200),
        ("3D", 259_200),
    ],
)
def test_a_time_limit_is_a_clock_or_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["60", "", "1:2", "one hour", "1:00:00:00", "-5m", "0s", "0:00"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time limit|is not above 0") as refused:
        parse_duration(text)

    assert "\n" not in str(refused.value)


@given(st.integers(1, 10_000_000))
def test_what_is_spelled_is_read_as_the_same_time(seconds: int) -> None:
    assert parse_duration(spell_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (1998, "33 min 18 s"),
        (7199, "119 min 59 s"),
        (9000, "2 h 30 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_people_are_told_a_time_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert say_duration(seconds) == said
