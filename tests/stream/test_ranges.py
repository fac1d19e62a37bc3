"""Ranges of objects: what arrives is the range, and nothing else of the object moves."""

from __future__ import annotations

import os
from collections.abc import Generator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import RefusedError
from rain.base.wire.orders import SERVER
from rain.common.fs import pack_tree
from rain.stream.archive import Archive
from rain.stream.errors import NotHereError, UnreachableError
from rain.stream.holder import InFar
from rain.stream.ranges import LARGEST, NoSuchFileError, Piece, Range, piece_of
from tests.stream.serving import A, B, Having, listening, reading, way

DATA = os.urandom(300_000)
ARCHIVE = pack_tree({"one": b"1" * 5000, "sub": {"two": b"0123456789"}})


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"], autouse=True)
def _encrypted(request: pytest.FixtureRequest) -> Generator[None]:
    way["encrypted"] = request.param
    yield
    way["encrypted"] = False


def a_folder(path: Path) -> Path:
    (path / "sub").mkdir(parents=True)
    (path / "one").write_bytes(b"1" * 5000)
    (path / "sub" / "two").write_bytes(b"0123456789")
    (path / "link").symlink_to("sub/two")
    (path / "out").symlink_to("/etc/passwd")
    return path


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_range_is_cut_as_python_cuts(start: int, length: int) -> None:
    data = bytes(range(30))
    assert piece_of(data, Range(start, start + length)) == Piece(data[start : start + length], 30)


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_only_the_range_of_a_blob_moves(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "stored"
    path.write_bytes(DATA)
    having = Having({A: path if kind == "file" else DATA})
    with listening(having) as there, reading(there.address) as reader:
        assert reader.read_range(SERVER, A, Range(1000, 1010)).data == DATA[1000:1010]
        assert reader.received == 10
        assert reader.read_range(SERVER, A, Range(299_999, LARGEST)).data == DATA[-1:]
        assert reader.read_range(SERVER, A, Range(400_000, LARGEST)) == Piece(b"", 300_000)
        with pytest.raises(NotHereError):
            reader.read_range(SERVER, B, Range(0, 1))
        assert there.accepted == 1


@pytest.mark.parametrize("kind", ["folder", "archive in memory", "archive in a file"])
def test_only_the_range_of_a_file_of_a_directory_moves(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "stored"
    if kind == "folder":
        a_folder(path)
    else:
        path.write_bytes(ARCHIVE)
    having = Having({A: ARCHIVE if kind == "archive in memory" else path})
    with listening(having) as there, reading(there.address) as reader:
        piece = reader.read_range(SERVER, A, Range(3, 5, "sub/two"))
        assert piece == Piece(b"34", 10)
        assert reader.received == 2
        for name in ("sub", "none", "../x", "/etc/passwd", "a\0b"):
            with pytest.raises(RefusedError, match=r"has no file|is not a path inside"):
                reader.read_range(SERVER, A, Range(0, 1, name))


def test_links_are_followed_inside_of_a_directory_only(tmp_path: Path) -> None:
    having = Having({A: a_folder(tmp_path / "stored")})
    with listening(having) as there, reading(there.address) as reader:
        assert reader.read_range(SERVER, A, Range(0, 2, "link")).data == b"01"
        with pytest.raises(RefusedError, match="has no file 'out'"):
            reader.read_range(SERVER, A, Range(0, 2, "out"))
        with pytest.raises(RefusedError, match="is a directory"):
            reader.read_range(SERVER, A, Range(0, 2))


def test_only_the_range_of_a_file_of_a_far_directory_is_asked_for(tmp_path: Path) -> None:
    archive, written = Archive.of(a_folder(tmp_path / "stored")), BytesIO()
    archive.write(written)
    data = written.getvalue()
    asked: list[int] = []

    def part(start: int, stop: int) -> bytes:
        asked.append(stop - start)
        return data[start:stop]

    def all_of_it() -> Any:
        raise AssertionError("all of the directory is asked for")

    far = InFar(len(data), all_of_it, part, all_of_it, archive.places)
    with listening(Having(far={A: far})) as there, reading(there.address) as reader:
        assert reader.read_range(SERVER, A, Range(3, 5, "sub/two")) == Piece(b"34", 10)
        assert reader.read_range(SERVER, A, Range(4990, LARGEST, "./one")).data == b"1" * 10
        assert reader.read_range(SERVER, A, Range(0, 2, "link")).data == b"01"
        assert reader.read_range(SERVER, A, Range(20, 30, "sub/two")) == Piece(b"", 10)
        for name in ("sub", "none", "../x", "/etc/passwd", "out"):
            with pytest.raises(RefusedError, match=r"has no file|is not a path inside"):
                reader.read_range(SERVER, A, Range(0, 1, name))
        with pytest.raises(RefusedError, match="is a directory"):
            reader.read_range(SERVER, A, Range(0, 2))
    assert asked == [2, 10, 2]


def test_the_server_passes_on_a_range_that_another_holder_has() -> None:
    with (
        listening(Having({A: DATA})) as governor,
        listening(Having(elsewhere={A: ("127.0.0.1:1", governor.address)})) as server,
        reading(server.address) as reader,
    ):
        assert reader.read_range(SERVER, A, Range(5, 8)).data == DATA[5:8]


def test_a_blob_has_no_files() -> None:
    with pytest.raises(NoSuchFileError, match="no directory"):
        piece_of(b"x" * 5000, Range(0, 1, "one"))


@pytest.mark.parametrize("wanted", [Range(2, 1), Range(0, LARGEST + 1), Range(0, 1, "x" * 9000)])
def test_a_range_that_cannot_be_closes_its_reader_and_harms_nobody(wanted: Range) -> None:
    with listening(Having({A: DATA})) as there, reading(there.address) as reader:
        with pytest.raises(UnreachableError):
            reader.read_range(SERVER, A, wanted)
        assert reader.read_range(SERVER, A, Range(0, 1)).size == len(DATA)
