"""Columns of plain values say the same when they are unpacked, and take few bytes."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.server.snapshot import columns
from rain.server.snapshot.columns import pack, unpack

INTEGERS = st.integers(-(2**63), 2**64 - 1)
VALUES: dict[type, st.SearchStrategy[Any]] = {
    int: st.one_of(st.integers(-3, 3), st.integers(-40_000, 40_000), INTEGERS),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    str: st.text(st.characters(exclude_categories=()), max_size=3),
    bytes: st.one_of(st.binary(max_size=2), st.sampled_from([b"long" * 100, b"other" * 100])),
}


def written(kind: type, values: list[Any]) -> list[tuple[int, bytes]]:
    return [
        (count, msgpack.packb(packed, unicode_errors="surrogatepass"))
        for count, packed in pack(kind, values)
    ]


def read(parts: list[tuple[int, bytes]]) -> list[Any]:
    values: list[Any] = []
    for count, part in parts:
        values += unpack(count, msgpack.unpackb(part, unicode_errors="surrogatepass"))
    return values


@given(st.sampled_from(list(VALUES)), st.data())
def test_what_is_packed_is_unpacked(kind: type, data: st.DataObject) -> None:
    values = data.draw(st.lists(VALUES[kind], max_size=30))
    assert read(written(kind, values)) == values


@given(INTEGERS, st.integers(-5, 5), st.integers(0, 50))
def test_numbers_in_equal_steps_come_back(first: int, step: int, count: int) -> None:
    values = [first + number * step for number in range(count)]
    values = [number for number in values if -(2**63) <= number < 2**64]
    assert read(written(int, values)) == values


@pytest.mark.parametrize(
    ("kind", "values", "most"),
    [
        (int, [7] * 50_000, 20),
        (int, list(range(10**12, 10**12 + 50_000)), 30),
        (int, [number % 100 for number in range(50_000)], 50_020),
        (bool, [number % 3 == 0 for number in range(50_000)], 50_020),
        (str, ["one", "another"] * 25_000, 50_040),
        (bytes, [bytes([48]) * 3, b"another"] * 25_000, 50_040),
        (bytes, [b"much" * 1000] * 4_000, 4_020),
    ],
)
def test_what_many_have_in_common_is_written_once(kind: type, values: list[Any], most: int) -> None:
    parts = written(kind, values)
    assert len(parts) == 1
    assert len(parts[0][1]) <= most
    assert read(parts) == values


def test_a_long_column_has_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_VALUES", 10)
    parts = written(int, list(range(25)))
    assert [count for count, _ in parts] == [10, 10, 5]
    assert read(parts) == list(range(25))


def test_large_values_are_distributed_over_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_BYTES", 10)
    values = [b"12345", b"1234567", b"1", b"a" * 40, b"2"]
    parts = written(bytes, values)
    assert [count for count, _ in parts] == [2, 2, 1]
    assert read(parts) == values


@pytest.mark.parametrize(
    "packed",
    [
        ["?", b"\1\0"],
        ["list", [1]],
        ["each", [1], ["list", [0, 0]]],
        ["z", b""],
        ["b", b"\1\2"],
        [],
    ],
)
def test_a_part_that_is_none_is_refused(packed: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        unpack(3, packed)


def test_steps_that_are_wider_than_any_number_are_packed() -> None:
    values = [2**63 - 2, -3]
    (packed,) = [packed for _, packed in pack(int, values)]
    assert unpack(2, msgpack.unpackb(msgpack.packb(packed))) == values
