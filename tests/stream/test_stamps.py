"""Copies of one making are told from those of another one by their stamps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.stream.stamps import Stamp


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
def test_a_stamp_is_written_and_read_in_one_way(nanoseconds: int, length: int) -> None:
    stamp = Stamp(nanoseconds, length)
    assert Stamp.decode(stamp.encode()) == stamp
    assert Stamp.read(stamp.spell()) == stamp


def test_a_copy_gets_the_stamp_of_what_was_copied(tmp_path: Path) -> None:
    (tmp_path / "made").write_bytes(b"data")
    (tmp_path / "copy").write_bytes(b"data")
    with (tmp_path / "made").open() as made, (tmp_path / "copy").open("r+b") as copy:
        Stamp.of(made.fileno()).mark(copy.fileno())
        assert Stamp.of(copy.fileno()) == Stamp.of(made.fileno())


@pytest.mark.parametrize("text", ["x", "00", "00" * 17])
def test_what_is_no_stamp_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="invalid stamp"):
        Stamp.read(text)


def test_without_a_stamp_nobody_goes_on() -> None:
    assert Stamp.read("") is None
