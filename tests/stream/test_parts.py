"""Parts of partitioned objects: their layout, and how a reader gets one piece of each of many."""

import ctypes
import io
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import ObjectId
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.mapping import map_region
from rain.stream.part_reading import PartPieces
from rain.stream.parts import (
    ALIGNMENT,
    MAGIC,
    count_of,
    in_file,
    in_memory,
    laid_out,
    place_of,
    write_laid_out,
)
from rain.stream.protocol import NOBODY, Ask, StreamRequest, decode_ids, encode_ids, ids_size
from rain.stream.reading import StreamReader
from tests.stream.serving import MACHINE, A, B, Having, listening, reading

LARGE = 300_000
PAGE = mmap.PAGESIZE


def partitioned(*pieces: bytes) -> bytes:
    return b"".join(laid_out([[piece] if piece else [] for piece in pieces]))


def read_part(
    reader: StreamReader, address: str, part: int, objects: Sequence[ObjectId]
) -> list[bytes | None]:
    parts = PartPieces(part, objects)
    reader.exchange(address, parts.exchange, Transfer())
    found = [parts.pieces[one] for one in objects]
    return [None if piece is None else bytes(piece) for piece in found]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_each_piece_is_found_by_its_number_at_an_aligned_place(pieces: list[bytes]) -> None:
    data = partitioned(*pieces)
    read = in_memory(data)
    assert count_of(read) == len(pieces)
    for part, piece in enumerate(pieces):
        offset, length = place_of(read, part)
        assert data[offset : offset + length] == piece
        assert not piece or offset % ALIGNMENT == 0


@given(st.lists(st.lists(st.binary(max_size=200), max_size=3), max_size=20))
def test_pieces_that_are_written_one_by_one_have_the_same_bytes(pieces: list[list[bytes]]) -> None:
    file = io.BytesIO()
    write_laid_out(file, iter(pieces), len(pieces))
    assert file.getvalue() == b"".join(laid_out(pieces))


def test_what_has_no_parts_and_parts_that_are_not_there_are_refused() -> None:
    with pytest.raises(RefusedError, match="has no parts"):
        place_of(in_memory(b"something else altogether"), 0)
    with pytest.raises(RefusedError, match="has 2 parts, and none with the number 2"):
        place_of(in_memory(partitioned(b"a", b"b")), 2)
    with pytest.raises(RefusedError, match="cut off"):
        place_of(in_memory(MAGIC + (5).to_bytes(8, "little") + bytes(20)), 3)


@pytest.mark.parametrize("machine", [NOBODY, MACHINE], ids=["remote", "on one machine"])
def test_a_reader_gets_one_piece_of_each_and_no_other_bytes(tmp_path: Path, machine: bytes) -> None:
    # given: pieces in memory and in files, small, large, and none at all
    large = [os.urandom(LARGE) for _ in range(3)]
    contents: dict[int, bytes | Path] = {}
    expected: list[bytes | None] = []
    for number in range(150):
        mine = [b"", b"%d" % number, large[number % 3]][number % 3]
        data = partitioned(b"other" * number, mine, os.urandom(1000))
        contents[number + 1] = data
        if number % 2:
            contents[number + 1] = tmp_path / str(number)
            (tmp_path / str(number)).write_bytes(data)
        expected.append(mine or None)
    ids = [ObjectId(number) for number in contents]

    # when, then: over one connection, again and again
    with listening(Having(contents), machine=machine) as there, reading(machine=machine) as reader:
        for _ in range(2):
            assert read_part(reader, there.address, 1, ids) == expected
        assert there.accepted == 1


def test_files_that_cannot_be_opened_from_here_are_sent(tmp_path: Path) -> None:
    data = os.urandom(LARGE)
    (tmp_path / "file").write_bytes(partitioned(b"", data))
    link = tmp_path / "link"
    link.symlink_to("file")  # the holder follows links, and readers do not
    contents: dict[int, bytes | Path] = {A: link, B: partitioned(b"a", b"b")}
    with listening(Having(contents), machine=MACHINE) as there, reading(machine=MACHINE) as reader:
        assert read_part(reader, there.address, 1, [A, B]) == [data, b"b"]


def test_an_object_that_is_not_here_ends_the_answer_and_not_the_connection() -> None:
    with listening(Having({A: partitioned(b"a")})) as there, reading() as reader:
        with pytest.raises(NotHereError, match="0/2"):
            read_part(reader, there.address, 0, [A, B])
        assert read_part(reader, there.address, 0, [A]) == [b"a"]
        assert there.accepted == 1
        with pytest.raises(RefusedError, match="0/1: the object has 1 parts"):
            read_part(reader, there.address, 1, [A])
        with pytest.raises(UnreachableError):
            read_part(reader, "127.0.0.1:1", 0, [A])


def test_a_request_names_its_objects() -> None:
    request = StreamRequest(Ask.PARTS, ObjectId(3), length=2)
    assert decode_ids(encode_ids([A, B])) == [A, B]
    assert ids_size(request) == len(encode_ids([A, B]))
    for length, part in ((0, 1), (1_000_000, 1), (1, -1)):
        with pytest.raises(ProtocolError):
            ids_size(StreamRequest(Ask.PARTS, ObjectId(part), length=length))


def test_a_piece_comes_from_the_disk_without_what_lies_around_it(tmp_path: Path) -> None:
    # given: an object on the disk, of which nothing is in memory
    path = tmp_path / "object"
    path.write_bytes(partitioned(*[os.urandom(LARGE) for _ in range(64)]))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if any(pages_in_memory(file.fileno())):
            pytest.skip("the temporary folder is in memory")

        # when: one piece in the middle is found, mapped and read
        offset, length = place_of(in_file(file.fileno()), 30)
        piece = bytes(map_region(file.fileno(), offset, length))

        # then: that has come from the disk, the index, and hardly anything else
        assert len(piece) == length
        pages = pages_in_memory(file.fileno())
        assert sum(pages) * PAGE <= length + 8 * PAGE
        assert all(pages[-(-offset // PAGE) : (offset + length) // PAGE])


def pages_in_memory(descriptor: int) -> list[bool]:
    """Which pages of a file are in the memory of the kernel."""
    size = os.fstat(descriptor).st_size
    whole = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    first = ctypes.c_char.from_buffer(whole)
    found = (ctypes.c_ubyte * -(-size // PAGE))()
    assert not ctypes.CDLL(None).mincore(ctypes.c_void_p(ctypes.addressof(first)), size, found)
    return [bool(one & 1) for one in found]
