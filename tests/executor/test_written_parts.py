"""Partitioned outputs whose pieces are made while they are written."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.base.executor_protocol import FILE, ObjectKindRow
from rain.common.content_type import encode_value
from rain.common.partitioned import Partitioned
from rain.executor.staging import StagingFolders
from rain.executor.values import Outputs
from rain.stream.shared_memory import BOARD, Board

LENGTHS = {0: 10, 1: 1000, 3: 40_000, 4: 1}


class Column(np.ndarray[Any, Any]):
    """An array of which one knows how many are alive."""

    alive = 0

    def __del__(self) -> None:
        Column.alive -= 1


class Making(Mapping[int, Any]):
    """Makes each piece when it is asked for, and notes how many there are then."""

    def __init__(self) -> None:
        self.most = 0

    def __getitem__(self, part: int) -> Any:
        Column.alive += 1
        self.most = max(self.most, Column.alive)
        return np.full(LENGTHS[part], part, np.int64).view(Column)

    def __iter__(self) -> Iterator[int]:
        return iter(LENGTHS)

    def __len__(self) -> int:
        return len(LENGTHS)


def written(stage: StagingFolders, pieces: Making) -> Path:
    outputs = Outputs(lambda _: False, stage)
    value = Partitioned.made_one_by_one(pieces, 5, 1_000_000)
    kind, path, content_type, user = outputs.output(
        value, "parts", ObjectKindRow(1, "out", "parts", "blob", "")
    )
    assert (kind, content_type, user) == (FILE, "", "")
    assert outputs.taken == {path}
    return Path(path)


def test_pieces_are_written_one_after_the_other_as_they_are_all_together(tmp_path: Path) -> None:
    pieces = Making()
    path = written(StagingFolders(str(tmp_path / "stage"), str(tmp_path), ""), pieces)
    assert pieces.most <= 2  # one is let go when the next has been made
    whole = Partitioned({part: Making()[part] for part in LENGTHS}, 5)
    assert path.read_bytes() == encode_value(whole, "parts")


def test_pieces_for_shared_memory_that_is_full_are_made_again_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: a kernel that is about to write back, and a governor with room in shared memory
    monkeypatch.setattr("rain.stream.shared_memory.before_writing", nothing_left)
    board = Board(str(tmp_path / BOARD), new=True)
    board.write(10_000_000, 0)
    board.close()
    stage = StagingFolders(str(tmp_path / "stage"), str(tmp_path), str(tmp_path), 1)
    assert written(stage, Making()).parent == tmp_path / "stage-1"

    class Full(Making):
        def __getitem__(self, part: int) -> Any:
            if part == 4 and not self.was_full:
                self.was_full = True
                raise OSError(28, "No space left on device")
            return super().__getitem__(part)

        was_full = False

    # when: others fill it before the last piece
    path = written(stage, Full())

    # then
    assert path.parent == tmp_path / "stage"
    assert len([*(tmp_path / "stage-1").iterdir()]) == 1  # what was begun has gone


def nothing_left(memory: int) -> int:
    return 0
