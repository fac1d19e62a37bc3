"""Stored files and folders, and the archives that folders travel as."""

import stat
from pathlib import Path

import pytest

from rain.common.fs import pack_directory
from rain.governor.messages import Stored
from rain.governor.store import MEMORY_LIMIT, Store, StoreError
from rain.stream.protocol import SharedPlace
from tests.support.filesystems import another_filesystem


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


def test_a_stored_file_is_read_only(store: Store) -> None:
    stored = store.write(b"0123456789")
    assert stored == Stored(1, 10)
    assert mode(store.path(1)) & 0o222 == 0
    assert store.path(1).read_bytes() == b"0123456789"


def test_few_bytes_stay_in_memory_and_many_do_not(store: Store) -> None:
    assert store.keep(b"x" * (MEMORY_LIMIT - 1)) == b"x" * (MEMORY_LIMIT - 1)
    assert store.keep(b"x" * MEMORY_LIMIT) == Stored(1, MEMORY_LIMIT)


def test_an_adopted_file_is_moved(store: Store, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_text("made")
    stored = store.adopt(made)
    assert not made.exists()
    assert store.path(stored.file).read_text() == "made"


def test_an_adopted_link_into_the_store_is_a_copy(store: Store, tmp_path: Path) -> None:
    first = store.write(b"first")
    link = tmp_path / "link"
    link.symlink_to(store.path(first.file))
    second = store.adopt(link)
    store.delete([first.file])
    assert store.path(second.file).read_text() == "first"


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


def test_links_in_a_circle_are_stored_as_they_are(store: Store, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "circle").symlink_to("circle")
    stored = store.adopt(tmp_path / "made")
    assert (store.path(stored.file) / "circle").readlink() == Path("circle")


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


def test_deleted_files_and_folders_are_gone(store: Store, tmp_path: Path) -> None:
    file = store.write(b"x").file
    folder = store.adopt(a_folder(tmp_path / "original")).file
    store.delete([file, folder, 99])
    assert list(store.folder.iterdir()) == []


def test_a_file_of_a_store_on_another_filesystem_is_copied(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with another_filesystem() as elsewhere:
        theirs, ours = Store(elsewhere), Store(tmp_path / "data")
        stored = theirs.write(b"x" * 100_000)
        status = theirs.path(stored.file).stat()
        place = SharedPlace(str(theirs.path(stored.file)), status.st_dev, status.st_ino)

        linked = ours.link_in(place, 100_000, is_folder=False)

        assert linked == Stored(1, 100_000)
        assert ours.path(1).read_bytes() == b"x" * 100_000
        assert mode(ours.path(1)) & 0o222 == 0
        assert ours.copied == 100_000
