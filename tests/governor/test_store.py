"""Stored files and folders, and the archives that folders travel as."""

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rain.common.fs import pack_directory
from rain.governor.core.results import Stored
from rain.governor.storage.errors import StoreError
from rain.governor.storage.store import MEMORY_LIMIT, Store
from rain.stream.protocol import SharedPlace
from rain.stream.spare_files import FOLDER, LEAST, open_value_file
from tests.support.filesystems import another_filesystem
from tests.support.full_disk import files_no_larger_than


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


# Shared memory.


@pytest.fixture
def two_tiers(tmp_path: Path) -> Iterator[Store]:
    (tmp_path / "data").mkdir()
    with another_filesystem() as shared:
        store = Store(tmp_path / "data", shared)
        store.tell_room(1 << 30, 1)  # on a machine whose kernel writes back at once
        yield store
        store.close()


def in_memory(store: Store, number: int) -> bool:
    return store.path(number).parent == store.shared


def test_what_has_room_there_is_written_to_shared_memory(two_tiers: Store) -> None:
    stored = two_tiers.write(b"x" * 1000)
    assert in_memory(two_tiers, stored.file)
    two_tiers.tell_room(500, 1)
    assert not in_memory(two_tiers, two_tiers.write(b"x" * 1000).file)


def test_a_file_from_there_is_adopted_there_and_any_other_is_not(
    two_tiers: Store, tmp_path: Path
) -> None:
    assert two_tiers.shared is not None
    there, here = two_tiers.shared / "stage-1" / "1", tmp_path / "here"
    there.parent.mkdir()
    for path in (there, here):
        path.write_bytes(b"made")
        assert two_tiers.adopts_at_once(path)
    assert in_memory(two_tiers, two_tiers.adopt(there).file)
    assert not in_memory(two_tiers, two_tiers.adopt(here).file)


def test_a_file_leaves_memory_when_its_copy_is_complete(two_tiers: Store) -> None:
    number = two_tiers.write(b"0123456789").file
    before = two_tiers.path(number)
    two_tiers.copy_out(number, lambda: False)
    assert two_tiers.path(number) == before
    going = two_tiers.leave_memory(number)
    assert not before.exists()
    assert going.exists()  # until it is removed, which takes long
    after = two_tiers.path(number)
    assert after.parent == two_tiers.folder
    assert after.read_bytes() == b"0123456789"
    assert mode(after) & 0o222 == 0
    two_tiers.delete([number])
    assert not any(two_tiers.folder.iterdir())


def test_a_copy_that_is_not_wanted_leaves_nothing(two_tiers: Store) -> None:
    number = two_tiers.write(b"0123456789").file
    two_tiers.copy_out(number, lambda: False)
    two_tiers.drop_copy(number)
    assert not any(two_tiers.folder.iterdir())
    assert in_memory(two_tiers, number)


def test_a_copy_that_finds_no_room_says_so_and_the_file_stays(two_tiers: Store) -> None:
    number = two_tiers.write(b"x" * 10_000).file
    with files_no_larger_than(5000), pytest.raises(StoreError, match="cannot write into"):
        two_tiers.copy_out(number, lambda: False)
    assert not any(two_tiers.folder.iterdir())
    assert two_tiers.path(number).stat().st_size == 10_000


def test_a_copy_that_is_over_is_not_finished(
    two_tiers: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rain.governor.storage.store.COPIED_AT_ONCE", 1000)
    number = two_tiers.write(b"x" * 10_000).file
    looks = iter([False, False, True])
    with pytest.raises(StoreError, match="the governor ends"):
        two_tiers.copy_out(number, lambda: next(looks))
    assert not any(two_tiers.folder.iterdir())
    assert two_tiers.path(number).stat().st_size == 10_000


def test_a_file_in_memory_is_shared_by_governors_without_a_copy(
    two_tiers: Store, tmp_path: Path
) -> None:
    assert two_tiers.shared is not None
    (tmp_path / "other").mkdir()
    with tempfile.TemporaryDirectory(dir=two_tiers.shared.parent) as folder:
        other = Store(tmp_path / "other", Path(folder))
        path = two_tiers.path(two_tiers.write(b"0123456789").file)
        place = SharedPlace(str(path), path.stat().st_dev, path.stat().st_ino)
        linked = other.link_in(place, 10, is_folder=False)
        assert linked is not None
        assert other.path(linked.file).samefile(path)
        assert in_memory(other, linked.file)
        other.close()


@pytest.fixture
def sparing(tmp_path: Path) -> Iterator[Store]:
    """A store that keeps deleted files to be written over."""
    folder = tmp_path / "data"
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shared:
        store = Store(folder, Path(shared))
        store.make_spares()
        store.allow_spares(100 * LEAST, 100 * LEAST)
        yield store
        store.close()


def spare_files(store: Store) -> int:
    assert store.shared is not None
    folders = (store.folder / FOLDER, store.shared / FOLDER)
    return sum(len(list(folder.iterdir())) for folder in folders)


def an_adopted(store: Store, folder: Path) -> int:
    made = folder / "made"
    with open(made, "wb", opener=open_value_file) as file:
        file.write(bytes(LEAST))
    return store.adopt(made).file


def test_large_files_of_executors_are_kept_when_they_are_deleted(sparing: Store) -> None:
    assert sparing.shared is not None
    for folder in (sparing.folder.parent, sparing.shared):
        sparing.delete([an_adopted(sparing, folder)])
    assert spare_files(sparing) == 2
    sparing.allow_spares(0, 0)
    sparing.trim_spares()
    assert spare_files(sparing) == 0


def test_a_file_whose_path_a_reader_has_had_is_deleted(sparing: Store) -> None:
    number = an_adopted(sparing, sparing.folder.parent)
    path = sparing.path(number)
    sparing.delete([number])
    assert not path.exists()
    assert spare_files(sparing) == 0


def test_a_file_that_another_governor_has_too_is_deleted_and_the_last_one_keeps_it(
    sparing: Store, tmp_path: Path
) -> None:
    number = an_adopted(sparing, sparing.folder.parent)
    status = (sparing.folder / str(number)).stat()
    place = SharedPlace(str(sparing.folder / str(number)), status.st_dev, status.st_ino)
    other = Store(tmp_path / "other")
    other.folder.mkdir()
    linked = other.link_in(place, LEAST, is_folder=False)
    assert linked is not None
    sparing.delete([number])
    assert spare_files(sparing) == 0
    back = SharedPlace(str(other.folder / str(linked.file)), status.st_dev, status.st_ino)
    again = sparing.link_in(back, LEAST, is_folder=False)
    assert again is not None
    other.delete([linked.file])
    sparing.delete([again.file])
    assert spare_files(sparing) == 1


def test_a_file_that_leaves_shared_memory_can_be_kept_there(sparing: Store) -> None:
    assert sparing.shared is not None
    number = an_adopted(sparing, sparing.shared)
    sparing.copy_out(number, lambda: False)
    sparing.remove(sparing.leave_memory(number))
    assert spare_files(sparing) == 1
    assert sparing.path(number).parent == sparing.folder


def test_a_file_that_a_task_has_made_itself_is_deleted(sparing: Store, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(bytes(LEAST))
    sparing.delete([sparing.adopt(made).file])
    assert spare_files(sparing) == 0
