"""Sizes as people write them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.sizes import parse_size, spell_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("100000", 100_000),
        ("17B", 17),
        ("4G", 4 * 1024**3),
        ("512MiB", 512 * 1024**2),
        ("1.5 KiB", 1536),
        ("2kb", 2000),
        ("3 TB", 3 * 10**12),
        (" 1p ", 1024**5),
    ],
)
def test_letters_count_by_1024_and_units_that_end_in_a_plain_b_by_1000(
    text: str, size: int
) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "4 X", "1e9", "1iB", "4GG", "\u0661", "1_000"])
def test_what_is_no_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; write for instance 4G, 512MiB or 100000"):
        parse_size(text)


def test_a_part_of_a_byte_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'1\.5' is not a whole number of bytes"):
        parse_size("1.5")


@given(st.integers(0, 2**60), st.sampled_from(["", "B"]))
def test_a_number_of_bytes_is_read_as_it_is(size: int, unit: str) -> None:
    assert parse_size(f"{size}{unit}") == size


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert parse_size(text) >= 0


def test_sizes_are_spelled_with_four_digits() -> None:
    assert [spell_size(size) for size in (17, 1536, 3 * 1024**3)] == ["17B", "1.5KiB", "3GiB"]
