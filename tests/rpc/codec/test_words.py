"""What is written by hand is what pycapnp reads, and the other way round."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.rpc import schema
from rain.rpc.codec.columns import read_numbers, write_numbers
from rain.rpc.codec.plain import opened, packed
from rain.rpc.codec.words import read_words, write_words

numbers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)
pieces = st.lists(st.binary(max_size=20), max_size=4)
Answer = schema.request.Answer


def texts_of(reader: Any) -> list[str]:
    return list(reader.texts)


@given(numbers, pieces)
def test_pycapnp_reads_what_is_written_by_hand(few: list[int], data: list[bytes]) -> None:
    content = write_words(write_numbers(few), data)

    (message,) = Answer.read_multiple_bytes(content)

    assert read_numbers(message.numbers).tolist() == few
    assert message.data == b"".join(data)
    assert not message._has("texts")
    assert not message._has("refusal")


@given(numbers, pieces)
def test_what_is_written_by_hand_is_read_by_hand(few: list[int], data: list[bytes]) -> None:
    content = write_words(write_numbers(few), data)

    found = read_words(content)

    assert found is not None
    start, middle, end = found
    assert read_numbers(content[start:middle]).tolist() == few
    assert content[middle:end] == b"".join(data)


@given(numbers, pieces, st.lists(st.text(max_size=5), max_size=2))
def test_another_layout_is_read_by_pycapnp(
    few: list[int], data: list[bytes], texts: list[str]
) -> None:
    def write(builder: Any) -> None:
        builder.texts = texts

    content = packed(Answer, write_numbers(few), data, write)

    assert read_words(content) is None
    read, data_content, start, end, rest = opened("it", Answer, content, texts_of)
    assert read.tolist() == few
    assert data_content[start:end] == b"".join(data)
    assert rest == texts


@given(numbers, pieces, st.data())
def test_both_ways_read_the_same_or_the_sender_is_at_fault(
    few: list[int], data: list[bytes], draw: st.DataObject
) -> None:
    """Damaged anywhere: what is read by hand is never something else than what pycapnp reads."""
    content = bytearray(write_words(write_numbers(few), data))
    place = draw.draw(st.integers(0, len(content) - 1))
    content[place] = draw.draw(st.integers(0, 255))
    damaged = bytes(content)
    found = read_words(damaged)
    if found is None:
        with suppress(ProtocolError):
            opened("it", Answer, damaged, texts_of)
        return
    start, middle, end = found

    (message,) = Answer.read_multiple_bytes(damaged)

    assert message.numbers == damaged[start:middle]
    assert message.data == damaged[middle:end]


@given(numbers, pieces, st.integers(1, 60))
def test_what_is_cut_off_is_never_read_by_hand(
    few: list[int], data: list[bytes], missing: int
) -> None:
    content = write_words(write_numbers(few), data)
    assert read_words(content[:-missing]) is None


def test_what_follows_a_message_makes_it_another_layout() -> None:
    assert read_words(write_words(b"", [b"x"]) + bytes(8)) is None


def test_an_empty_message_is_the_length_of_its_segment_its_root_and_two_pointers() -> None:
    assert len(write_words(b"", [])) == 4 * 8
