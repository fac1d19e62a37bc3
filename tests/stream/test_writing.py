"""Large files are written in pieces, where the kernel has reserved their place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.executor.staging import StagingFolders
from rain.stream import writing
from rain.stream.shared_memory import BOARD, Board
from rain.stream.staged import stage
from rain.stream.writing import PIECE, in_pieces


@given(st.lists(st.integers(0, 3 * PIECE), max_size=4))
def test_pieces_are_the_same_bytes_and_none_is_larger_than_one_write(lengths: list[int]) -> None:
    parts: list[bytes | memoryview] = [
        bytes([place]) * length for place, length in enumerate(lengths)
    ]
    pieces = list(in_pieces(parts))
    assert b"".join(pieces) == b"".join(parts)
    assert all(len(piece) <= PIECE for piece in pieces)


class Kernel:
    """What was asked of it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reserved: list[int] = []
        self.pieces: list[int] = []
        reserving, cutting = os.posix_fallocate, writing.in_pieces

        def reserve(descriptor: int, start: int, length: int) -> None:
            self.reserved.append(length)
            reserving(descriptor, start, length)

        def cut(parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
            pieces = list(cutting(parts))
            self.pieces += map(len, pieces)
            return pieces

        patch.setattr(os, "posix_fallocate", reserve)
        patch.setattr(writing, "in_pieces", cut)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(monkeypatch)


def test_a_large_result_of_a_task_is_reserved_on_the_disk_and_written_in_pieces(
    tmp_path: Path, kernel: Kernel
) -> None:
    parts = [b"head", os.urandom(2 * PIECE + 1)]
    path = StagingFolders(str(tmp_path / "stage"), str(tmp_path), "").write(parts)
    assert Path(path).read_bytes() == b"".join(parts)
    assert kernel.reserved == [2 * PIECE + 5]
    assert kernel.pieces == [4, PIECE, PIECE, 1]


def test_a_small_result_is_written_as_it_is(tmp_path: Path, kernel: Kernel) -> None:
    path = StagingFolders(str(tmp_path / "stage"), str(tmp_path), "").write([b"head", bytes(1000)])
    assert Path(path).read_bytes() == b"head" + bytes(1000)
    assert not kernel.reserved
    assert not kernel.pieces


def test_in_shared_memory_nothing_is_reserved(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: a kernel that is about to write back
    monkeypatch.setattr("rain.stream.shared_memory.before_writing", nothing_left)
    board = Board(str(tmp_path / BOARD), new=True)
    board.write(10 * PIECE, 0)
    board.close()
    # when
    data = os.urandom(PIECE + 1)
    path = StagingFolders(str(tmp_path / "stage"), str(tmp_path), str(tmp_path), 1).write([data])
    # then
    assert Path(path).parent == tmp_path / "stage-1"
    assert Path(path).read_bytes() == data
    assert not kernel.reserved
    assert kernel.pieces == [PIECE, 1]


def nothing_left(memory: int) -> int:
    return 0


def test_what_a_client_stages_is_reserved(tmp_path: Path, kernel: Kernel) -> None:
    data = os.urandom(PIECE + 1)
    made = stage(str(tmp_path), [data])
    assert made is not None
    assert bytes(made.view()) == data
    assert kernel.reserved == [PIECE + 1]
