"""Calls and plain messages are told apart, wherever the stream is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.rpc.interleaved import LONGEST, Kind, Sorter, marked


def call(segments: list[int]) -> bytes:
    """A message as RPC frames it, of segments with these many words."""
    table = b"".join(n.to_bytes(4, "little") for n in (len(segments) - 1, *segments))
    table += bytes(len(table) % 8)
    return table + b"\xff" * 8 * sum(segments)


calls = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(lambda s: (Kind.CALLS, call(s)))
plain = st.tuples(
    st.sampled_from([Kind.MESSAGE, Kind.FAREWELL, Kind.ALIVE]), st.binary(max_size=40)
)


def bytes_of(kind: Kind, content: bytes) -> bytes:
    return content if kind is Kind.CALLS else marked(kind, content)


def joined(pieces: list[tuple[Kind, bytes]]) -> list[tuple[Kind, bytes]]:
    """The pieces, with those of calls joined where they follow each other."""
    found: list[tuple[Kind, bytes]] = []
    for kind, content in pieces:
        if kind is Kind.CALLS and found and found[-1][0] is Kind.CALLS:
            found[-1] = (kind, found[-1][1] + content)
        else:
            found.append((kind, content))
    return found


@given(st.lists(calls | plain, max_size=8), st.lists(st.integers(1, 30), min_size=1))
def test_what_was_joined_is_cut_as_it_was(
    said: list[tuple[Kind, bytes]], lengths: list[int]
) -> None:
    stream = b"".join(bytes_of(*piece) for piece in said)
    sorter = Sorter()
    heard: list[tuple[Kind, bytes]] = []
    place = turn = 0
    while place < len(stream):
        length = lengths[turn % len(lengths)]
        heard += sorter.feed(stream[place : place + length])
        place, turn = place + length, turn + 1
    assert joined(heard) == joined(said)
    assert sorter.leftover() == b""


@given(st.lists(calls, min_size=1, max_size=4), st.data())
def test_it_is_known_whether_a_call_is_whole(
    said: list[tuple[Kind, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(content for _, content in said)
    ends = {sum(len(content) for _, content in said[:n]) for n in range(len(said) + 1)}
    place = data.draw(st.integers(0, len(stream)))
    sorter = Sorter()
    list(sorter.feed(stream[:place]))
    assert sorter.inside_call == (place not in ends)


def test_nonsense_is_left_to_cap_n_proto_for_ever() -> None:
    sorter = Sorter()
    nonsense = b"GET / HTTP/1.0\r\n\r\n"
    assert list(sorter.feed(nonsense)) == [(Kind.CALLS, nonsense)]
    assert list(sorter.feed(marked(Kind.MESSAGE, b"a"))) == [
        (Kind.CALLS, marked(Kind.MESSAGE, b"a"))
    ]
    assert not sorter.inside_call, "its end would never come"


def test_the_end_may_come_in_the_middle() -> None:
    sorter = Sorter()
    assert list(sorter.feed(b"\0\0\0")) == []
    assert sorter.leftover() == b"\0\0\0"


def test_a_message_over_the_limit_is_refused_before_it_has_come() -> None:
    header = Kind.MESSAGE.value + (LONGEST + 1).to_bytes(4, "little")
    with pytest.raises(ProtocolError, match="a message of 268435457 bytes"):
        list(Sorter().feed(header))
