"""Deleted files that are written over, and those that must not be."""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rain.stream.spare_files import (
    FOLDER,
    LEAST,
    SpareFiles,
    mark_shown,
    open_value_file,
)

SHARED_MEMORY = Path("/dev/shm")  # the two file systems that governors use


@pytest.fixture(params=["disk", "shared memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "disk":
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as made:
        yield Path(made)


@pytest.fixture
def spares(folder: Path) -> SpareFiles:
    made = SpareFiles.make(str(folder))
    assert made is not None, "this kernel tells which files are in use"
    made.allow(100 * LEAST)
    return made


def a_file(folder: Path, name: str, size: int = LEAST) -> Path:
    """A stored file that an executor has written."""
    path = folder / name
    with open(path, "wb", opener=open_value_file) as file:
        file.write(name[:1].encode() * size)
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
    return path


def sizes(folder: Path) -> list[int]:
    return sorted(path.stat().st_size for path in (folder / FOLDER).iterdir())


def test_a_deleted_file_is_taken_once_and_can_be_written(folder: Path, spares: SpareFiles) -> None:
    path = a_file(folder, "old")
    inode = path.stat().st_ino
    assert spares.keep(path)
    assert not path.exists()
    new = folder / "new"
    assert spares.take(LEAST, str(new))
    assert new.stat().st_ino == inode
    assert new.stat().st_mode & 0o200, "its owner may write"
    assert not spares.take(LEAST, str(folder / "another"))


def test_a_file_that_is_mapped_is_not_written_over(folder: Path, spares: SpareFiles) -> None:
    path = a_file(folder, "old")
    with path.open("rb") as file:
        reader = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    spares.keep(path)
    with reader:
        assert not spares.take(LEAST, str(folder / "new"))
        assert reader[:3] == b"ooo"
    assert not (folder / "new").exists()
    assert sizes(folder) == []


def test_a_file_that_a_child_has_open_is_not_written_over(folder: Path, spares: SpareFiles) -> None:
    path = a_file(folder, "old")
    release, held = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        descriptor = os.open(path, os.O_RDONLY)
        os.write(held[1], b"x")
        os.read(release[0], 1)
        os.close(descriptor)
        os._exit(0)
    try:
        os.read(held[0], 1)
        spares.keep(path)
        assert not spares.take(LEAST, str(folder / "new"))
    finally:
        os.write(release[1], b"x")
        os.waitpid(child, 0)
        for descriptor in (*release, *held):
            os.close(descriptor)


def test_another_one_is_taken_in_the_place_of_one_that_is_in_use(
    folder: Path, spares: SpareFiles
) -> None:
    used = a_file(folder, "used", LEAST)
    spares.keep(a_file(folder, "free", LEAST + 5))
    with used.open("rb"):
        spares.keep(used)
        assert spares.take(LEAST, str(folder / "new"))
    assert (folder / "new").read_bytes()[:4] == b"ffff"


def test_a_shown_file_is_not_kept(folder: Path, spares: SpareFiles) -> None:
    path = a_file(folder, "old")
    mark_shown(path)
    assert not spares.keep(path)
    assert path.exists()


def test_a_file_that_something_else_has_written_is_not_kept(
    folder: Path, spares: SpareFiles
) -> None:
    path = folder / "of a program"
    path.write_bytes(bytes(LEAST))
    assert not spares.keep(path)


def test_a_file_with_another_name_is_not_kept(folder: Path, spares: SpareFiles) -> None:
    path = a_file(folder, "old")
    (folder / "other").hardlink_to(path)
    assert not spares.keep(path)


def test_folders_links_small_files_and_what_has_gone_are_not_kept(
    folder: Path, spares: SpareFiles
) -> None:
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(a_file(folder, "old"))
    a_file(folder, "small", LEAST - 1)
    assert not any(spares.keep(folder / name) for name in ("folder", "link", "small", "gone"))


def test_the_oldest_make_way(folder: Path, spares: SpareFiles) -> None:
    spares.allow(7 * LEAST)
    for number in (1, 2, 4, 3):
        assert spares.keep(a_file(folder, f"file {number}", number * LEAST))
    assert sizes(folder) == [3 * LEAST, 4 * LEAST]
    assert not spares.keep(a_file(folder, "large", 8 * LEAST))
    assert sizes(folder) == [3 * LEAST, 4 * LEAST]


def test_what_is_not_allowed_any_more_is_deleted(folder: Path, spares: SpareFiles) -> None:
    for number in (1, 2):
        spares.keep(a_file(folder, f"file {number}", number * LEAST))
    assert not spares.allow(3 * LEAST)
    assert spares.allow(2 * LEAST)
    spares.trim()
    assert sizes(folder) == [2 * LEAST]
    assert spares.allow(0)
    spares.trim()
    assert sizes(folder) == []


def test_the_nearest_size_is_taken_and_none_that_is_far_off(
    folder: Path, spares: SpareFiles
) -> None:
    for times in (1, 4, 9):
        spares.keep(a_file(folder, f"{times} times", times * LEAST))
    executor = SpareFiles(str(folder))
    assert executor.take(5 * LEAST, str(folder / "new"))
    assert sizes(folder) == [LEAST, 9 * LEAST]
    assert not executor.take(3 * LEAST, str(folder / "newer"))
    assert not executor.take(20 * LEAST, str(folder / "newer"))
    assert executor.take(2 * LEAST, str(folder / "newer"))


def test_where_the_kernel_cannot_tell_there_are_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rain.stream.spare_files.is_unused", always)
    assert SpareFiles.make(str(folder)) is None
    assert not (folder / FOLDER).exists()
    assert not SpareFiles(str(folder)).take(LEAST, str(folder / "new"))


def always(path: str) -> bool:
    return bool(path)
