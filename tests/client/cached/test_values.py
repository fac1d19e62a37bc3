"""Digests of values: equal for equal values, in each process."""

import enum
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from rain.client.cached.values import value_digest

PRINTED = """
from rain.client.cached.values import value_digest
class Point:
    def __init__(self, x): self.x = x
    def moved(self): return Point(self.x + 1)
words = ["north", "south", "east", "west"]
def used(x, kinds={"a", "b", "c"}): return x in {"d", "e", "f"} and words and Point(x)
values = [set(words), {word: {word} for word in set(words)}, Point(1), Point, used, lambda: used]
print(value_digest(values))
"""


@define
class Case:
    name: str
    value: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


DIFFERENT: list[Any] = [
    *(None, True, 1, 2, 1.0, -0.0, 0.0, 1j, "1", b"1", "", b"", ()),
    *([], [1], [1, 2], [[1], 2], (1,), (1, 2), {1}, {1, 2}, frozenset({1}), {}, {1: 2}, {2: 1}),
    *(Fraction(1, 3), Fraction(2, 3), Path("a"), Path("b"), Colour.RED, Colour.BLUE),
    *(Case("a", 1), Case("a", 2), Case, Colour, OrderedDict(a=1), partial(int, base=2)),
    *(partial(int, base=3), bytearray(b"1"), range(3), slice(1), len, sorted, "".join, os, sys),
    *(np.arange(3), np.arange(4), np.arange(3.0), np.arange(6).reshape(2, 3), np.int64(1)),
    *(np.array(["a", None], dtype=object), np.dtype("int8"), 10**5000),
]


def test_different_values_have_different_digests() -> None:
    digests = [value_digest(value) for value in DIFFERENT]
    assert len(set(digests)) == len(DIFFERENT)


def test_a_digest_is_the_same_in_each_process() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PRINTED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert len(printed[0].strip()) == 40
    assert len(set(printed)) == 1


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=6), st.randoms())
def test_the_order_of_a_dictionary_and_of_a_set_does_not_count(value: Any, chance: Any) -> None:
    items = list(value.items())
    chance.shuffle(items)
    assert value_digest(dict(items)) == value_digest(value)
    assert value_digest({key for key, _ in items}) == value_digest(set(value))


def test_the_order_of_an_ordered_dictionary_counts() -> None:
    one: dict[str, int] = OrderedDict(a=1, b=2)
    other: dict[str, int] = OrderedDict(b=2, a=1)
    assert value_digest(one) != value_digest(other)


def test_it_does_not_count_what_values_share() -> None:
    word = bytes(10_000)
    shared = [word]
    assert value_digest([shared, shared]) == value_digest([[bytes(10_000)], [bytes(10_000)]])


def test_a_value_that_contains_itself_has_a_digest() -> None:
    one: list[Any] = [1]
    one.append(one)
    other: list[Any] = [1]
    other.append(other)
    assert value_digest(one) == value_digest(other) != value_digest([1, [1]])


def test_an_array_counts_by_its_bytes_wherever_they_are() -> None:
    table = np.arange(12).reshape(3, 4)
    assert value_digest(table) == value_digest(table.copy())
    changed = table.copy()
    changed[2, 3] = 0
    assert value_digest(changed) != value_digest(table)


def test_what_cannot_be_taken_apart_counts_by_its_type() -> None:
    assert value_digest(threading.Lock()) == value_digest(threading.Lock())
    assert value_digest(threading.Lock()) != value_digest(threading.Event)


def test_an_object_counts_by_its_state_and_its_class() -> None:
    case = Case("a", [1])
    before = value_digest(case)
    assert value_digest(Case("a", [1])) == before
    case.value.append(2)
    assert value_digest(case) != before


@pytest.mark.parametrize("depth", [50])
def test_deep_values_have_digests(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth):
        value = [value, value]  # 2**depth paths lead to the innermost
    assert value_digest(value) == value_digest(value[:])
