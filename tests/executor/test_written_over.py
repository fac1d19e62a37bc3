"""Large results that are written over files whose objects have gone."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base import executor_protocol as protocol
from rain.base.ids import pack
from rain.base.shortage import NoRoomError
from rain.base.sizes import spell_size
from rain.common.errors import RainException
from rain.executor.context import Context
from rain.executor.memory import Memory
from rain.executor.staging import StagingFolders
from rain.stream.shared_memory import BOARD, Board
from rain.stream.spare_files import FOLDER, LEAST, SpareFiles, open_value_file
from tests.support.full_disk import files_no_larger_than


class Governor:
    """Its two folders, and an executor's folders beside them."""

    def __init__(self, folder: Path, room: int = 0) -> None:
        self.data, self.shared = folder / "data", folder / "shared"
        self.data.mkdir(parents=True)
        self.shared.mkdir()
        board = Board(str(self.shared / BOARD), new=True)
        board.write(room, 0)
        board.close()
        self.stage = StagingFolders(str(folder / "stage"), str(self.data), str(self.shared), 1)

    def spare(self, place: Path, size: int) -> int:
        """A deleted file; its inode."""
        kept = SpareFiles.make(str(place))
        assert kept is not None, "this kernel tells which files are in use"
        kept.allow(100 * LEAST)
        path = place / "1"
        with open(path, "wb", opener=open_value_file) as file:
            file.write(b"old" * (size // 3 + 1))
        inode = path.stat().st_ino
        assert kept.keep(path)
        return inode


def set_cached(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """How much the kernel keeps in memory before it writes to the disk."""

    def left(memory: int) -> int:
        del memory
        return size

    monkeypatch.setattr("rain.stream.shared_memory.before_writing", left)


@given(old=st.integers(LEAST, 4 * LEAST), new=st.integers(LEAST, 4 * LEAST))
def test_the_file_has_the_new_bytes_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, old: int, new: int
) -> None:
    governor = Governor(tmp_path_factory.mktemp("governor"))
    governor.spare(governor.data, old)
    parts = [b"head", os.urandom(new), b"tail"]
    assert Path(governor.stage.write(parts)).read_bytes() == b"".join(parts)


def test_a_file_of_the_disk_is_written_over_before_a_new_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cached(monkeypatch, 100 * LEAST)
    governor = Governor(tmp_path)
    inode = governor.spare(governor.data, LEAST)
    path = Path(governor.stage.write([bytes(LEAST)]))
    assert path.stat().st_ino == inode
    assert governor.stage.owns(path)


def test_a_new_file_that_the_kernel_keeps_is_better_than_an_old_one_in_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    governor = Governor(tmp_path)
    inode = governor.spare(governor.shared, LEAST)
    set_cached(monkeypatch, LEAST)
    assert Path(governor.stage.write([bytes(LEAST)])).stat().st_ino != inode
    # The kernel would write the next one to the disk.
    path = Path(governor.stage.write([bytes(LEAST)]))
    assert path.stat().st_ino == inode
    assert path.parent == governor.shared / "stage-1"


def test_old_files_make_way_for_a_new_one_of_another_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cached(monkeypatch, 0)
    governor = Governor(tmp_path, room=10 * LEAST)
    governor.spare(governor.shared, 2 * LEAST)
    path = Path(governor.stage.write([bytes(9 * LEAST)]))
    assert path.parent == governor.shared / "stage-1"
    assert not list((governor.shared / FOLDER).iterdir())


def test_an_old_file_that_cannot_grow_is_deleted(tmp_path: Path) -> None:
    governor = Governor(tmp_path)
    governor.spare(governor.data, LEAST)
    with files_no_larger_than(LEAST + 10), pytest.raises(RainException, match="cannot write into"):
        governor.stage.write([bytes(LEAST + 100)])
    assert not list((governor.data / FOLDER).iterdir())
    assert [path.name for path in (tmp_path / "stage").iterdir()] == []


def an_input(folder: Path) -> tuple[Context, Path]:
    """The context of a call with one stored input, and the file of that."""
    memory = Memory(str(folder), str(folder / "uploads"))
    kind, stored = pack(5, 3), folder / "1"
    memory.kinds.objects[kind] = protocol.ObjectKindRow(kind, "", "pickle", "blob", "")
    with open(stored, "wb", opener=open_value_file) as file:
        pickle.dump("value", file)
    row = protocol.CallInput(pack(5, 20), kind, "", "", stored.stat().st_size, 1)
    call = protocol.Call(pack(5, 30), pack(5, 4), b"", [row], [])
    return Context(
        memory, memory.kinds, StagingFolders(f"{folder}/stage", str(folder), ""), call
    ), stored


def may_become_spare(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_ISVTX)


def test_a_task_that_only_gets_the_value_of_an_input_is_not_shown_its_file(tmp_path: Path) -> None:
    context, stored = an_input(tmp_path)
    assert context.load_input(0, "", None) == "value"
    assert may_become_spare(stored)


def test_a_file_whose_path_a_task_gets_is_never_written_over(tmp_path: Path) -> None:
    context, stored = an_input(tmp_path)
    assert context.input(0, "", None).path == stored
    assert not may_become_spare(stored)


def test_data_that_a_task_has_made_itself_and_whose_path_it_knows_is_never_written_over(
    tmp_path: Path,
) -> None:
    context, _ = an_input(tmp_path)
    array = np.zeros(LEAST)
    made = context.blob(array, encode="pickle")
    assert made.path is not None
    assert not may_become_spare(made.path)


def test_a_full_disk_is_told_with_what_was_to_be_written_and_how_large_the_disk_is(
    tmp_path: Path,
) -> None:
    stage = StagingFolders(str(tmp_path / "stage"), "", "")

    def write(file: object, on_disk: bool) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NoRoomError) as full:
        stage.write_by(200 << 20, write)
    disk = shutil.disk_usage(tmp_path).total
    told = f"cannot write 200MiB into {stage.folder}, which has {spell_size(disk)} in all: No space"
    assert told in str(full.value)
    assert full.value.size == 200 << 20
    assert not list((tmp_path / "stage").iterdir())


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_is_not_written_to_its_end_leaves_no_part_of_a_file(
    tmp_path: Path, error: BaseException
) -> None:
    stage = StagingFolders(str(tmp_path / "stage"), "", "")

    def write(file: BinaryIO, on_disk: bool) -> None:
        file.write(b"begun")
        raise error

    with pytest.raises(type(error)):
        stage.write_by(200 << 20, write)
    assert not list((tmp_path / "stage").iterdir())
