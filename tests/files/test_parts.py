"""Blocks of a file: each record is in one of them, whole."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.files import parts
from rain.files.parts import edge, open_part

texts = st.lists(st.binary(max_size=12).map(lambda one: one.replace(b"\n", b"")), max_size=12)


def reading(data: bytes, read: list[tuple[int, int]] | None = None) -> parts.ReadRange:
    def give(start: int, stop: int) -> bytes:
        if read is not None:
            read.append((start, stop))
        return data[start:stop]

    return give


@given(texts, st.integers(1, 20), st.sampled_from([b"\n", b"\r\n", b"aa", b""]))
def test_blocks_cover_a_file_and_cut_no_record(
    records: list[bytes], size: int, delimiter: bytes
) -> None:
    data = (delimiter or b"|").join(records)
    edges = [
        edge(reading(data), place, len(data), delimiter)
        for place in range(0, len(data) + size, size)
    ]

    blocks = [data[start:stop] for start, stop in pairwise(edges)]

    assert b"".join(blocks) == data
    for block in blocks[:-1]:
        assert not block or not delimiter or block.endswith(delimiter) or edges[-1] == len(data)
    for place, begin in zip(range(0, len(data) + size, size), edges, strict=True):
        assert begin >= min(place, len(data))
        if delimiter and 0 < begin < len(data):
            assert data[begin - len(delimiter) : begin] == delimiter


def test_a_record_that_begins_at_an_edge_is_not_in_the_block_before() -> None:
    assert edge(reading(b"ab\ncd\n"), 3, 6, b"\n") == 3
    assert edge(reading(b"ab\ncd\n"), 4, 6, b"\n") == 6


def test_a_delimiter_is_found_that_lies_on_both_sides_of_a_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "LOOK", 3)
    assert edge(reading(b"....<>.."), 2, 8, b"<>") == 6


def test_no_byte_is_read_but_those_of_the_part() -> None:
    read: list[tuple[int, int]] = []
    with open_part(reading(b"0123456789", read), 2, 6) as part:
        assert part.read() == b"2345"
        assert part.seek(-2, 2) == 2
        assert part.read() == b"45"
        assert part.seek(1) == 1
        assert part.read(2) == b"34"
        with pytest.raises(ValueError, match="-1"):
            part.seek(-1)
    assert all(2 <= start <= stop <= 6 for start, stop in read)


def test_what_a_part_reads_from_is_closed_with_it_once() -> None:
    closed: list[bool] = []
    part = open_part(reading(b"0123"), 0, 4, lambda: closed.append(True))
    part.close()
    part.close()
    assert closed == [True]
