"""Amounts of named resources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.resources import ONE_CPU, Resources

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
