"""Stored files and folders, and the archives that folders travel as."""

import io
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rain.common.fs import pack_directory
from rain.governor.archive import Archive, ChangedError
from rain.governor.messages import Stored
from rain.governor.store import ARCHIVES_REMEMBERED, MEMORY_LIMIT, Store, StoreError, remove


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folder = tmp_path / "data"
    folder.mkdir()
    return Store(folder)


def a_folder(path: Path) -> Path:
    (path / "deep" / "deeper").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "file").write_bytes(b"x" * 1000)
    (path / "deep" / "program").write_text("#!/bin/sh\n")
    (path / "deep" / "program").chmod(0o755)
    (path / "deep" / "link").symlink_to("program")
    (path / "deep" / "nothing").touch()
    (path / ("long" * 40)).write_text("a name too long for a plain header")
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_stored_file_is_read_only_and_read_in_pieces(store: Store) -> None:
    stored = store.write(b"0123456789")
    assert stored == Stored(1, 10)
    assert mode(store.path(1)) & 0o222 == 0
    assert store.read(1, 3, 4) == (10, b"3456")
    assert store.read(1, 8, 100) == (10, b"89")


def test_bytes_in_memory_are_read_the_same_way(store: Store) -> None:
    assert store.read(b"0123456789", 3, 4) == (10, b"3456")


def test_few_bytes_stay_in_memory_and_many_do_not(store: Store) -> None:
    assert store.keep(b"x" * (MEMORY_LIMIT - 1)) == b"x" * (MEMORY_LIMIT - 1)
    assert store.keep(b"x" * MEMORY_LIMIT) == Stored(1, MEMORY_LIMIT)


def test_an_adopted_file_is_moved(store: Store, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_text("made")
    stored = store.adopt(made)
    assert not made.exists()
    assert store.read(stored.file, 0, 100) == (4, b"made")


def test_an_adopted_link_into_the_store_is_a_copy(store: Store, tmp_path: Path) -> None:
    first = store.write(b"first")
    link = tmp_path / "link"
    link.symlink_to(store.path(first.file))
    second = store.adopt(link)
    store.delete([first.file])
    assert store.read(second.file, 0, 100) == (5, b"first")


def test_links_into_the_store_become_copies_inside_of_an_adopted_folder(
    store: Store, tmp_path: Path
) -> None:
    first = store.write(b"first")
    made = tmp_path / "made"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "ours").symlink_to(store.path(first.file))
    (made / "other").symlink_to("/etc")
    stored = store.adopt(made)
    store.delete([first.file])
    assert (store.path(stored.file) / "deep" / "ours").read_bytes() == b"first"
    assert (store.path(stored.file) / "other").is_symlink()


def test_what_others_own_is_not_made_read_only(store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("x")
    other.chmod(0o666)
    made = tmp_path / "made"
    made.mkdir()
    (made / "link").symlink_to(other)
    store.adopt(made)
    assert mode(other) == 0o666


def test_a_missing_file_cannot_be_adopted(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot store .*missing: No such file"):
        store.adopt(tmp_path / "missing")
    with pytest.raises(StoreError, match=r"cannot copy .*missing: No such file"):
        store.copy_in(tmp_path / "missing")
    assert list(store.folder.iterdir()) == []


def test_a_copy_leaves_the_original(store: Store, tmp_path: Path) -> None:
    original = a_folder(tmp_path / "original")
    stored = store.copy_in(original)
    assert pack_directory(store.path(stored.file)) == pack_directory(original)
    assert mode(original) & 0o200


def test_the_length_of_a_folder_is_that_of_its_archive(store: Store, tmp_path: Path) -> None:
    packed = pack_directory(a_folder(tmp_path / "original"))
    stored = store.adopt(tmp_path / "original")
    assert stored.size == len(packed)


def test_a_folder_is_read_as_the_archive_that_a_client_would_make(
    store: Store, tmp_path: Path
) -> None:
    packed = pack_directory(a_folder(tmp_path / "original"))
    stored = store.adopt(tmp_path / "original")
    pieces = [store.read(stored.file, at, 777)[1] for at in range(0, len(packed), 777)]
    assert b"".join(pieces) == packed


def test_an_archive_becomes_a_folder_again(store: Store, tmp_path: Path) -> None:
    packed = pack_directory(a_folder(tmp_path / "original"))
    draft = tmp_path / "draft"
    draft.write_bytes(packed)
    stored = store.unpack(store.new_number(), draft)
    assert stored.size == len(packed)
    assert store.read(stored.file, 0, len(packed)) == (len(packed), packed)


def test_what_is_no_archive_cannot_be_unpacked(store: Store, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.write_bytes(b"no archive at all")
    with pytest.raises(StoreError, match="cannot unpack"):
        store.unpack(store.new_number(), draft)
    assert list(store.folder.iterdir()) == []


def test_an_archive_cannot_write_outside_of_its_folder(store: Store, tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    with tarfile.open(draft, "w") as archive:
        info = tarfile.TarInfo("../escaped")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(StoreError, match="cannot unpack"):
        store.unpack(store.new_number(), draft)
    assert not (store.folder / "escaped").exists()


def test_deleted_files_and_folders_are_gone(store: Store, tmp_path: Path) -> None:
    file = store.write(b"x").file
    folder = store.adopt(a_folder(tmp_path / "original")).file
    store.read(folder, 0, 1)
    store.delete([file, folder, 99])
    assert list(store.folder.iterdir()) == []


def test_only_some_archives_are_remembered(store: Store, tmp_path: Path) -> None:
    numbers: list[int] = []
    for number in range(ARCHIVES_REMEMBERED + 5):
        path = tmp_path / str(number)
        path.mkdir()
        numbers.append(store.adopt(path).file)
    assert {store.read(number, 0, 1 << 20)[0] for number in numbers} == {tarfile.RECORDSIZE}
    assert store.read(numbers[0], 0, 1)[1] == b"."


def test_a_folder_that_shrinks_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "original")
    archive = Archive.of(folder)
    (folder / "file").write_bytes(b"")
    with pytest.raises(ChangedError, match="has become shorter"):
        archive.read(0, archive.length)


def test_what_is_no_file_cannot_be_archived(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ChangedError, match="neither a file nor a directory"):
        Archive.of(tmp_path)


def test_removing_what_is_gone_is_no_mistake(tmp_path: Path) -> None:
    remove(tmp_path / "gone")


names = st.text("abc", min_size=1, max_size=3)
trees = st.recursive(
    st.binary(max_size=1500), lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=8
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tree=st.dictionaries(names, trees, max_size=4),
    offset=st.integers(0, 20_000),
    size=st.integers(0, 5_000),
)
def test_any_piece_of_any_archive_is_right(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any], offset: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    lay_out(folder, tree)
    packed = pack_directory(folder)
    archive = Archive.of(folder)
    assert archive.length == len(packed)
    assert archive.read(offset, size) == packed[offset : offset + size]


def lay_out(folder: Path, tree: dict[str, Any]) -> None:
    for name, content in tree.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).mkdir()
            lay_out(folder / name, content)
