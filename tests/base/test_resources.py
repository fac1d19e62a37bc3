"""Amounts of named resources."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.resources import ONE_CPU, Resources, checked_amount, spell_amount

amounts = st.dictionaries(st.sampled_from(["cpus", "gpus", "memory"]), st.integers(0, 5))


def test_a_task_needs_one_cpu_unless_it_says_otherwise() -> None:
    assert Resources.of({}) == ONE_CPU
    assert Resources.of({"cpus": 0}).cpus == 0
    assert Resources.of({"gpus": 2}).as_dict() == {"cpus": 1, "gpus": 2}


def test_the_order_of_names_and_zeros_make_no_difference() -> None:
    one = Resources.of({"memory": 4, "gpus": 1, "disks": 0})
    assert one == Resources.of({"gpus": 1, "memory": 4})
    assert list(one.items()) == [("cpus", 1), ("gpus", 1), ("memory", 4)]


@pytest.mark.parametrize("name", ["cpus", "gpus"])
def test_negative_amounts_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"resource '{name}' cannot be negative: -1"):
        Resources.of({name: -1})


@given(amounts, amounts)
def test_something_fits_when_there_is_enough_of_everything(
    needed: dict[str, int], there: dict[str, int]
) -> None:
    needs, capacity = Resources.of(needed), Resources.of(there)
    owned = capacity.as_dict()
    enough = all(amount <= owned.get(name, 0) for name, amount in needs.items())
    assert needs.fits(capacity) == enough


@pytest.mark.parametrize(
    ("name", "given_amount", "amount"),
    [("cpus", 2, 2), ("memory", "2GiB", 2 * 1024**3), ("memory", 5, 5), ("licence", 1, 1)],
)
def test_amounts_are_whole_numbers_and_memory_may_be_a_size(
    name: str, given_amount: object, amount: int
) -> None:
    assert checked_amount(name, given_amount) == amount


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("gpus", "1", "the resource 'gpus' must be a whole number, not '1'"),
        ("gpus", True, "the resource 'gpus' must be a whole number, not True"),
        ("cpus", -1, "the resource 'cpus' must be a whole number, not -1"),
        (
            "cpus",
            0.5,
            "the resource 'cpus' must be a whole number, not 0.5; a task that mostly waits",
        ),
        ("disk", 1.5, "the resource 'disk' must be a whole number, not 1.5"),
        ("disk", 2**63, "the resource 'disk' must be a whole number, not 9223372036854775808"),
        ("memory", None, "the resource 'memory' must be a whole number or a size such as"),
        ("memory", "lots", "the resource 'memory': 'lots' is not a size"),
        ("a b", 1, "'a b' is not the name of a resource"),
        ("", 1, "'' is not the name of a resource"),
    ],
)
def test_what_is_no_amount_is_refused_by_name(name: str, amount: object, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        checked_amount(name, amount)


def test_a_factor_is_answered_with_what_happens_by_itself() -> None:
    with pytest.raises(ValueError, match="twice as much for its next run by itself, and memory_tr"):
        checked_amount("memory", "2x")


def test_memory_is_shown_as_a_size_and_everything_else_as_a_number() -> None:
    assert spell_amount("memory", 3 * 1024**3) == "3GiB"
    assert spell_amount("licence", 1024) == "1024"


def test_how_often_a_task_fits_is_decided_by_what_is_scarcest() -> None:
    capacity = Resources.of({"cpus": 8, "gpus": 2, "memory": 100})

    assert Resources.of({"cpus": 2}).times_in(capacity) == 4
    assert Resources.of({"cpus": 1, "gpus": 1}).times_in(capacity) == 2
    assert Resources.of({"cpus": 0, "memory": 30}).times_in(capacity) == 3
    assert Resources.of({"cpus": 0}).times_in(capacity) == 1
    assert Resources.of({"cpus": 9}).times_in(capacity) == 1
