"""Calls that do the same have the same key in each run of a program, and others have another."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rain.client import Session
from rain.client.cached.sameness import key_of_call, key_of_function
from rain.client.constants import blob

SCALE = SimpleNamespace(factor=2)


def double(x: int) -> int:
    return 2 * x


def scaled(x: int) -> int:
    factor: int = SCALE.factor
    return factor * x


def key(fn: Callable[..., Any], *args: object) -> bytes:
    named = [(str(place), value) for place, value in enumerate(args)]
    return key_of_call(key_of_function(fn), ["pickle"], "", named)[0]


def test_a_function_is_the_same_when_its_program_is_read_again() -> None:
    def read() -> Callable[..., Any]:
        names: dict[str, Any] = {}
        exec("def f(x):\n    return 2 * x", names)  # noqa: S102 # as Python reads a program
        found: Callable[..., Any] = names["f"]
        return found

    assert key(read(), 1) == key(read(), 1)


def test_another_function_or_another_value_is_another_call() -> None:
    keys = [key(double, 1), key(double, 2), key(scaled, 1), key(double, 1.0), key(double, "1")]
    assert len(set(keys)) == len(keys)


def test_what_a_function_reads_belongs_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(scaled, 1)
    monkeypatch.setattr(SCALE, "factor", 3)
    assert key(scaled, 1) != before


def test_data_that_is_given_or_captured_is_named_by_its_object() -> None:
    with Session(None, 1).bind_only():
        first, second = blob("a"), blob("b")
    captured = key_of_function(lambda: first)
    assert captured.objects == [first.packed_id]
    _, stands = key_of_call(captured, None, "", [("x", [second]), ("y", 1)])
    assert stands == [first.packed_id, second.packed_id]
