"""A body in blocks gives the bytes of the object, or a named error and none of a bad block."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import zstandard
from attrs import define
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.stream.blocks import SendingBlocks, Unpacking, pass_on_blocks
from rain.stream.bodies import OfFile
from rain.stream.host_links import HostLink, HostLinks
from rain.stream.packing import BLOCK, LARGEST_BLOCK, PROBE, Gauge, Segment
from rain.stream.sockets import BUFFER, BrokenError, Note, receive_file, receive_into

SLOW = 1e6  # bytes per second: any codec is faster


def text(size: int) -> bytes:
    line = b"2026-11-27 10:00:00 INFO a line as in many logs\n"
    return (line * (size // len(line) + 1))[:size]


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def compressed(plain: bytes) -> bytes:
    data = zstandard.ZstdCompressor(1, write_checksum=True).compress(plain)
    return Segment(len(plain), len(data)).encode() + data


@contextmanager
def coming(wire: bytes) -> Generator[socket.socket]:
    """These bytes, and then the end."""
    here, there = socket.socketpair()

    def send() -> None:
        with there:
            try:
                there.sendall(wire)
            except BrokenPipeError:
                return  # the reader has refused them

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with here:
            yield here
    finally:
        sender.join()


def taken(wire: bytes, length: int) -> bytes:
    data = bytearray(length)
    with coming(wire) as connected:
        if receive_into(Unpacking(connected, length), memoryview(data)) < length:
            raise BrokenError("the stream was cut off")
    return bytes(data)


def taken_into_file(wire: bytes, length: int, path: Path, notes: list[int]) -> None:
    with coming(wire) as connected, path.open("wb") as file:
        receive_file(Unpacking(connected, length), file.fileno(), length, 0, notes.append)


def sent(path: Path, link: HostLink, start: int = 0, note: Note | None = None) -> bytes:
    """What a file is on the link, from a place on."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        there = socket.create_connection(port.getsockname())
        here = port.accept()[0]
    came = bytearray()

    def receive() -> None:
        while piece := here.recv(1 << 20):
            came.extend(piece)

    receiver = threading.Thread(target=receive)
    receiver.start()
    with here, path.open("rb") as file:
        with there:
            size = os.fstat(file.fileno()).st_size
            SendingBlocks(there, link).send(OfFile(file.fileno(), start, size - start), note)
        receiver.join()
    return bytes(came)


@define
class Constant(Gauge):
    """One that finds the same rate on any link: a pair of sockets is as fast as it likes."""

    def look(self, now: float, sent: int, waiting: int, *, idled: bool = False) -> None:
        return


class Slow(HostLink):
    """A link for which any codec is fast enough."""

    def gauge(self) -> Gauge:
        return Constant(SLOW)


pieces = st.lists(
    st.tuples(st.booleans(), st.binary(min_size=1, max_size=400)), min_size=1, max_size=8
)


def encode(is_packed: bool, data: bytes) -> bytes:
    plain = data * 40  # so that it becomes smaller
    return compressed(plain) if is_packed else Segment(len(plain)).encode() + plain


@settings(max_examples=60, deadline=None)
@given(pieces)
def test_any_row_of_segments_gives_the_bytes_of_the_object(
    segments: list[tuple[bool, bytes]],
) -> None:
    plain = b"".join(data * 40 for _, data in segments)
    wire = b"".join(encode(is_packed, data) for is_packed, data in segments)
    assert taken(wire, len(plain)) == plain


@settings(max_examples=60, deadline=None)
@given(pieces, st.data())
def test_what_is_cut_anywhere_has_given_a_right_beginning(
    segments: list[tuple[bool, bytes]], data: st.DataObject
) -> None:
    plain = b"".join(one * 40 for _, one in segments)
    wire = b"".join(encode(is_packed, one) for is_packed, one in segments)
    cut = data.draw(st.integers(0, len(wire) - 1))
    with coming(wire[:cut]) as connected:
        body = Unpacking(connected, len(plain))
        got = bytearray()
        buffer = memoryview(bytearray(1))
        with suppress(BrokenError):  # in a segment that is not compressed, it is simply the end
            while count := receive_into(body, buffer):
                got += buffer[:count]
    assert plain.startswith(got)
    assert len(got) < len(plain)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_block_gives_a_named_error_and_no_wrong_byte(data: st.DataObject) -> None:
    good, bad = compressed(text(5000)), bytearray(compressed(text(9000)))
    header = len(Segment(1).encode())
    place = data.draw(st.integers(header, len(bad) - 1))
    bad[place] ^= data.draw(st.integers(1, 255))
    came = bytearray(14_000)
    with coming(good + bytes(bad)) as connected:
        body = Unpacking(connected, 14_000)
        try:
            receive_into(body, memoryview(came))
        except ProtocolError as error:
            assert str(error).startswith("a stream sends a ")  # noqa: PT017 # or no error
            assert came == text(5000) + bytes(9000)
        else:  # it was a bit that means nothing
            assert came == text(5000) + text(9000)


def test_a_bomb_is_refused_by_its_size() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(500_000_000 // 8))
    with pytest.raises(ProtocolError, match="a block of 62500000 bytes as one of 1048576"):
        taken(Segment(LARGEST_BLOCK, len(bomb)).encode() + bomb, LARGEST_BLOCK)


def test_what_lies_behind_a_block_is_not_overlooked() -> None:
    data = zstandard.ZstdCompressor().compress(text(5000)) + b"more"
    with pytest.raises(ProtocolError, match="damaged"):
        taken(Segment(5000, len(data)).encode() + data, 5000)


@pytest.mark.parametrize("start", [0, 1, PROBE, 3 * BLOCK + 17])
def test_a_slow_link_gets_text_compressed_from_any_place_on(tmp_path: Path, start: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(text(3_000_001))
    link = Slow()
    wire = sent(file, link, start)
    assert taken(wire, 3_000_001 - start) == text(3_000_001)[start:]
    assert len(wire) == link.sent < 100_000
    assert (link.bytes, link.packed) == (3_000_001 - start, 3_000_001 - start)


def test_noise_goes_as_it_is_behind_one_block_that_was_tried(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(noise(3_000_001))
    link = Slow()
    wire = sent(file, link)
    assert wire == Segment(3_000_001).encode() + noise(3_000_001)
    assert link.packed == 0


def test_each_part_of_a_file_goes_as_it_is_worth(tmp_path: Path) -> None:
    file = tmp_path / "file"
    data = text(4 * BLOCK) + noise(20_000_000) + text(20_000_000)
    file.write_bytes(data)
    link = Slow()
    wire = sent(file, link)
    notes: list[int] = []
    taken_into_file(wire, len(data), tmp_path / "copy", notes)
    assert (tmp_path / "copy").read_bytes() == data
    assert notes == sorted(notes)
    assert notes[-1] == len(data)
    assert 20_000_000 < len(wire) < 34_000_000


def test_a_relay_passes_a_body_on_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    data = text(600_000) + noise(700_000)
    file.write_bytes(data)
    wire = sent(file, Slow())
    here, there = socket.socketpair()
    passed = bytearray()

    def receive() -> None:
        while piece := there.recv(1 << 16):
            passed.extend(piece)

    receiver = threading.Thread(target=receive)
    receiver.start()
    with coming(wire + b"the next answer") as source:
        with here:
            pass_on_blocks(source, here, len(data))
        assert source.recv(100) == b"the next answer"
    receiver.join()
    there.close()
    assert bytes(passed) == wire


def test_a_connection_within_one_machine_has_no_link() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.create_connection(port.getsockname()) as there,
        port.accept()[0] as here,
    ):
        assert HostLinks().of(here) is None
        assert HostLinks().of(there) is None


def test_a_connection_whose_other_side_has_gone_is_broken_and_has_no_link() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.create_connection(port.getsockname()) as here,
    ):
        there = port.accept()[0]
        there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        there.close()  # with a reset
        with suppress(ConnectionResetError):
            here.recv(1)
        with pytest.raises(BrokenError):
            HostLinks().of(here)


def test_a_transfer_too_short_to_tell_the_rate_leaves_what_others_have_found() -> None:
    link = HostLink()
    short = link.gauge()  # begins when nothing is known
    link.add(5e6, 10, 10, 0)
    link.add(short.rate, 10, 10, 0)
    assert link.rate == 5e6


def test_bytes_that_leave_as_they_are_are_told_while_they_move(tmp_path: Path) -> None:
    # given: the first block is sent compressed
    path, behind = tmp_path / "text and noise", 8 * BUFFER
    data = text(BLOCK) + noise(behind)
    path.write_bytes(data)
    # when
    told: list[int] = []
    wire = sent(path, Slow(), note=told.append)
    # then
    assert taken(wire, len(data)) == data
    assert told == sorted(told)
    assert (told[0], told[-1]) == (BLOCK, len(data))
    assert {BLOCK + BUFFER * count for count in range(behind // BUFFER)} <= set(told)
