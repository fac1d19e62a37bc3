"""Headers of streams are written and read in one way, and nonsense is recognised."""

from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.address import Source
from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId
from rain.stream.protocol import (
    ANSWER_SIZE,
    TEXT_LIMIT,
    Ask,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
)

LONG = 2**63 - 1


@given(
    st.sampled_from(Ask),
    st.integers(0, LONG),
    st.integers(0, LONG),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=16, max_size=16),
    st.booleans(),
)
def test_a_request_arrives_as_it_was_sent(
    ask: Ask, object_id: int, holder: int, length: int, key: bytes, blocks: bool
) -> None:
    request = StreamRequest(ask, ObjectId(object_id), holder, length, key, blocks)
    assert StreamRequest.decode(request.encode()) == request


@given(st.sampled_from(Say), st.integers(0, 2**64 - 1), st.text(max_size=100), st.booleans())
def test_an_answer_arrives_as_it_was_sent(say: Say, length: int, text: str, blocks: bool) -> None:
    sent = StreamAnswer(say, length, text, blocks).encode()
    answer, text_length = StreamAnswer.decode(sent[:ANSWER_SIZE])
    assert (answer.say, answer.length, answer.blocks) == (say, length, blocks)
    assert sent[ANSWER_SIZE:] == text.encode()
    assert text_length == len(text.encode())


@given(st.binary(min_size=ANSWER_SIZE, max_size=ANSWER_SIZE))
def test_an_answer_of_nonsense_is_refused_or_short(head: bytes) -> None:
    try:
        _, text_length = StreamAnswer.decode(head)
    except ProtocolError:
        return
    assert text_length <= TEXT_LIMIT


def test_of_a_peer_that_knows_no_blocks_none_are_asked_and_none_understood() -> None:
    # such a peer sends zeros where the word for blocks is now, and skips it
    old_request, old_answer = Struct("!B7xqqQ16s"), Struct("!B3xIQ")
    request = old_request.pack(Ask.READ, 1, 2, 3, bytes(16))
    assert StreamRequest.decode(request) == StreamRequest(Ask.READ, ObjectId(1), 2, 3)
    asked = StreamRequest(Ask.READ, ObjectId(1), 2, 3, blocks=True).encode()
    assert old_request.unpack(asked) == (Ask.READ, 1, 2, 3, bytes(16))
    answer, _ = StreamAnswer.decode(old_answer.pack(Say.BYTES, 0, 5))
    assert answer == StreamAnswer(Say.BYTES, 5)


def test_a_question_that_nobody_knows_is_the_readers_fault() -> None:
    with pytest.raises(ProtocolError, match="unknown request 99"):
        StreamRequest.decode(bytes([99]) + StreamRequest(Ask.READ, ObjectId(1)).encode()[1:])


@pytest.mark.parametrize("text", ["", "1", "1 2", "x 2 /path", "1 x /path"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="invalid place"):
        SharedPlace.read(text)


def test_a_place_may_have_any_name() -> None:
    place = SharedPlace("/with space/and\udcff", 1, 2)
    assert SharedPlace.read(place.spell()) == place


@pytest.mark.parametrize("source", [Source("host:1"), Source("[::1]:7210", LONG)])
def test_a_source_is_written_and_read_in_one_way(source: Source) -> None:
    assert Source.read(source.spell()) == source


def test_what_names_no_holder_is_refused() -> None:
    with pytest.raises(ProtocolError, match="names no holder"):
        Source.read("host:1#x")
