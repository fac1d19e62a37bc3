"""Partitioned values as data, and the pieces of a part as their reader sees them."""

import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import Factory, define

from rain.base.exchange import ListedObject, decode_list, encode_list
from rain.base.ids import ObjectId
from rain.common import pieces
from rain.common.content_type import decode_value, encode_value, write_value, writes_itself
from rain.common.errors import PiecesLostError, RainException
from rain.common.partitioned import Partitioned
from rain.common.pickles import Part
from rain.common.pieces import (
    BYTES_AT_ONCE,
    OBJECTS_AT_ONCE,
    SOURCES_AT_ONCE,
    Pieces,
    StreamedPieces,
    windows,
)
from rain.common.splitting import collect
from rain.stream.mapping import map_file
from rain.stream.part_reading import PartPieces
from tests.support.parts import read_parts


@define
class Reading:
    """Reads pieces of what a test has made, and counts how often it is asked."""

    objects: Sequence[bytes]
    asked: int = 0

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        self.asked += 1
        return read_parts(self.objects, part, members)


def members(count: int, piece: int = 10) -> list[ListedObject]:
    return [ListedObject(ObjectId(number), piece, f"h{number % 3}:1") for number in range(count)]


def test_pieces_come_back_under_the_numbers_of_their_parts() -> None:
    data = encode_value(Partitioned({2: [1, 2], 0: "x"}, 3), "parts")
    assert decode_value(data, "parts") == {0: "x", 2: [1, 2]}
    assert decode_value(encode_value(Partitioned([None, 5], 2), "parts"), "parts") == {
        0: None,
        1: 5,
    }


def test_the_numbers_of_parts_may_be_those_of_numpy() -> None:
    groups = {part: int(part) for part in np.arange(3)}
    assert Partitioned(groups, 3).pieces == {0: 0, 1: 1, 2: 2}


def test_a_split_that_returns_something_else_is_told_what_to_return() -> None:
    with pytest.raises(RainException, match="2 pieces for 3 parts"):
        Partitioned([1, 2], 3)
    with pytest.raises(RainException, match="the part 3; the parts are the numbers from 0 to 2"):
        Partitioned({3: 1}, 3)
    with pytest.raises(RainException, match="the part 'a'"):
        Partitioned({"a": 1}, 3)
    with pytest.raises(RainException, match="only what a split has made"):
        encode_value([1, 2], "parts")
    with pytest.raises(RainException, match="has no parts"):
        decode_value(b"something else", "parts")


def test_a_part_has_the_pieces_of_all_inputs_in_their_order_as_often_as_one_likes() -> None:
    objects = [encode_value(Partitioned({0: n} if n % 2 else {}, 1), "parts") for n in range(600)]
    reading = Reading(objects)
    before = pieces.install(reading)
    try:
        part = Pieces(members(600), 0)
        assert list(part) == list(range(1, 600, 2))
        assert reading.asked == 600 // OBJECTS_AT_ONCE + 1
        assert sum(part) == sum(range(1, 600, 2))
    finally:
        pieces.install(before)


def test_only_so_much_of_a_part_is_read_at_a_time() -> None:
    large = [len(some) for some in windows(members(5, BYTES_AT_ONCE // 2))]
    assert large == [2, 2, 1]
    assert [len(some) for some in windows(members(2, 10 * BYTES_AT_ONCE))] == [1, 1]
    assert list(windows([])) == []


def test_a_list_names_each_source_once() -> None:
    listed = members(100)
    data = encode_list(listed)
    assert decode_list(data) == listed
    assert data.count(b"h1:1") == 1


def test_collected_pieces_are_where_their_data_is_and_are_loaded_as_they_were_written(
    tmp_path: Path,
) -> None:
    objects = [
        encode_value(Partitioned({1: np.arange(100_000) + number}, 2), "parts") for number in (0, 1)
    ]
    objects.insert(1, encode_value(Partitioned({0: "other"}, 2), "parts"))
    before = pieces.install(Reading(objects))
    try:
        made = collect(Pieces(members(3), 1), None)
    finally:
        pieces.install(before)
    (tmp_path / "stored").write_bytes(encode_value(made, "pieces"))

    collected = decode_value(map_file(tmp_path / "stored"), "pieces")

    assert [piece is None for piece in collected.pieces] == [False, True, False]
    for _ in range(2):
        one, other = collected
        assert np.array_equal(one, np.arange(100_000))
        assert np.array_equal(other, np.arange(100_000) + 1)
        assert not one.flags.owndata


def test_much_that_is_collected_is_written_while_it_is_read(tmp_path: Path) -> None:
    made_of = [encode_value(Partitioned({1: bytes([number])}, 2), "parts") for number in range(5)]
    reading = Reading(made_of)
    listed = members(5, BYTES_AT_ONCE)  # so each is read alone
    before = pieces.install(reading)
    try:
        made = collect(Pieces(listed, 1), None)
        assert reading.asked == 0
        assert writes_itself(made, "pieces")

        written = iter(made.pieces)
        next(written)
        assert reading.asked <= 2

        with (tmp_path / "stored").open("wb") as file:
            write_value(made, file)
    finally:
        pieces.install(before)
    assert [*decode_value(map_file(tmp_path / "stored"), "pieces")] == [
        bytes([number]) for number in range(5)
    ]


def test_little_that_is_collected_is_read_at_once() -> None:
    before = pieces.install(Reading([encode_value(Partitioned({0: 1}, 1), "parts")]))
    try:
        made = collect(Pieces(members(1), 0), None)
    finally:
        pieces.install(before)
    assert not writes_itself(made, "pieces")
    assert [*made] == [1]


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"rainpart" + bytes(7) + b"\x09"])
def test_data_that_are_no_collected_pieces_are_refused(data: bytes) -> None:
    with pytest.raises(RainException, match="cannot be decoded"):
        decode_value(data, "pieces")


def test_only_collected_pieces_can_be_encoded_so() -> None:
    with pytest.raises(RainException, match="only collected pieces"):
        encode_value([b"x"], "pieces")


@define
class Told(Reading):
    """Says when it is asked, and may break off the second time."""

    second: threading.Event = Factory(threading.Event)
    threads: list[threading.Thread] = Factory(list)
    breaks: bool = False

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        self.threads.append(threading.current_thread())
        if len(self.threads) == 2:
            self.second.set()
            if self.breaks:
                raise PiecesLostError("a governor has gone")
        return super().read(part, members)


@pytest.fixture
def told() -> Generator[Told, None, None]:
    """Of three inputs two are read at once."""
    objects = [encode_value(Partitioned([number], 1), "parts") for number in range(5)]
    reader = Told(objects)
    before = pieces.install(reader)
    yield reader
    pieces.install(before)
    for thread in reader.threads:
        if thread is not threading.current_thread():
            thread.join()


def two_at_once(count: int) -> Pieces:
    return Pieces(members(count, BYTES_AT_ONCE // 2), 0)


def test_what_comes_next_is_read_while_the_task_works_on_what_is_there(told: Told) -> None:
    coming = iter(two_at_once(5))
    assert next(coming) == 0
    told.second.wait()  # nobody has asked for it
    assert next(coming) == 1
    assert len(told.threads) == 2  # and what comes after it is not read yet
    assert list(coming) == [2, 3, 4]
    assert told.asked == 3


def test_what_is_read_together_needs_no_thread(told: Told) -> None:
    assert list(two_at_once(2)) == [0, 1]
    assert told.threads == [threading.current_thread()]


def test_what_was_read_before_a_loss_is_given_before_it_is_told(told: Told) -> None:
    told.breaks = True
    coming = iter(two_at_once(4))
    assert next(coming) == 0
    told.second.wait()
    assert next(coming) == 1
    with pytest.raises(PiecesLostError, match="a governor has gone"):
        next(coming)


def test_a_task_that_wants_no_more_pieces_waits_for_none(told: Told) -> None:
    for piece in two_at_once(4):
        assert piece == 0
        break
    assert len(told.threads) <= 2


class FromSeveral(StreamedPieces):
    """Gets one piece for each object, and does something before; it has no connections."""

    def __init__(self, before: Callable[[str], object]) -> None:
        self._before = before

    def _ask(self, source: str, asked: PartPieces) -> None:
        self._before(source)
        asked.pieces = {one: source.encode() for one in asked.objects}


def from_sources(count: int) -> list[ListedObject]:
    return [ListedObject(ObjectId(number), 10, f"h{number}:1") for number in range(count)]


def test_the_governors_that_have_pieces_are_asked_at_the_same_time() -> None:
    all_are_asked = threading.Barrier(SOURCES_AT_ONCE, timeout=30)
    reader = FromSeveral(lambda _: all_are_asked.wait())
    found = reader.read(0, from_sources(2 * SOURCES_AT_ONCE))
    assert found == [f"h{number}:1".encode() for number in range(2 * SOURCES_AT_ONCE)]


def test_one_governor_is_asked_without_a_thread() -> None:
    asked_by: list[threading.Thread] = []
    FromSeveral(lambda _: asked_by.append(threading.current_thread())).read(0, from_sources(1))
    assert asked_by == [threading.current_thread()]


@pytest.mark.parametrize("gone", ["h0:1", "h2:1"])
def test_a_governor_that_is_gone_is_told_though_the_others_answer(gone: str) -> None:
    def breaks(source: str) -> None:
        if source == gone:
            raise PiecesLostError("a governor has gone")

    with pytest.raises(PiecesLostError, match="a governor has gone"):
        FromSeveral(breaks).read(0, from_sources(3))
