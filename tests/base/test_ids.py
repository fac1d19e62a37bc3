"""Ids: a pair for people, one whole number for messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import (
    FIRST_NUMBER,
    FIRST_OF_SERVER,
    ID,
    LARGEST_SESSION,
    LAST_SHARED,
    NUMBER_MASK,
    is_of_server,
    pack,
    session_of,
    spell,
    unpack,
)

sessions = st.integers(1, LARGEST_SESSION)
numbers = st.integers(0, NUMBER_MASK)


@given(sessions, numbers)
def test_a_pair_survives_being_packed(session: int, number: int) -> None:
    packed = pack(session, number)
    assert unpack(packed) == (session, number)
    assert session_of(packed) == session
    assert packed < 1 << 63  # it fits into the signed numbers of the wire


@given(sessions, numbers, sessions, numbers)
def test_packed_ids_are_ordered_as_their_pairs(a: int, b: int, c: int, d: int) -> None:
    assert (pack(a, b) < pack(c, d)) == ((a, b) < (c, d))


@pytest.mark.parametrize(
    ("session", "number"),
    [(0, 1), (-1, 1), (LARGEST_SESSION + 1, 1), (1, -1), (1, NUMBER_MASK + 1)],
)
def test_what_does_not_fit_is_refused(session: int, number: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        pack(session, number)


def test_the_numbers_of_the_server_are_between_those_of_joined_clients_and_those_of_kinds() -> None:
    first, last = pack(3, FIRST_OF_SERVER), pack(3, LAST_SHARED - 1)
    assert is_of_server(first)
    assert is_of_server(last)
    assert not is_of_server(first - 1)
    assert not is_of_server(last + 1)
    assert not is_of_server(pack(3, FIRST_NUMBER))


def test_ids_are_spelled_as_people_read_them() -> None:
    assert spell(pack(3, 14)) == "3/14"
    assert str(ID(3, 14)) == repr(ID(3, 14)) == "3/14"
    assert ID(3, 14) == (3, 14)
