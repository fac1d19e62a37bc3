"""What users may ask for about the place of a task."""

from __future__ import annotations

import pytest

from rain.base.constraints import Constraints, checked_constraints


def test_a_pin_is_an_address_or_a_host() -> None:
    pinned = Constraints(pin=("first:9000", "second"))
    assert pinned.admits("first:9000")
    assert pinned.admits("second:1")
    assert not pinned.admits("first:9001")
    assert not pinned.admits("third:9000")


def test_without_a_pin_every_governor_is_admitted() -> None:
    assert Constraints(spread="a").admits("anywhere:1")


def test_one_pin_needs_no_list() -> None:
    assert checked_constraints({"pin": "host"}) == Constraints(pin=("host",))
    assert checked_constraints({"pin": ["a", "b:1"]}) == Constraints(pin=("a", "b:1"))


def test_constraints_that_say_nothing_are_none() -> None:
    assert checked_constraints({}) is None
    assert checked_constraints({"pin": [], "spread": ""}) is None


def test_constraints_are_shown_as_they_were_given() -> None:
    given = {"pin": ["a"], "spread": "s", "apart": "p"}
    made = checked_constraints(given)
    assert made is not None
    assert made.as_dict() == given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"near": "x"}, "there is no constraint 'near'; known: pin, spread, apart"),
        ({"pin": 3}, "'pin' names governors by host:port or host, not 3"),
        ({"pin": [""]}, "'pin' names governors"),
        ({"spread": 1}, "'spread' is the name of a group of tasks, not 1"),
        ({"apart": ["x"]}, "'apart' is the name of a group of tasks"),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        checked_constraints(given)
    assert "\n" not in str(caught.value)
