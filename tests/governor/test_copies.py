"""Copies of data that a governor with real executors fetches or shares."""

import errno
import os
from pathlib import Path

import pytest
import trio

from rain.base.ids import ObjectId
from rain.base.wire.orders import Orders
from rain.common.fs import pack_tree
from rain.governor.storage import store as store_module
from rain.governor.storage.store import MEMORY_LIMIT
from rain.stream.holder import Held, InFile, InFolder
from tests.governor.running import (
    BLOB,
    FOLDER,
    Running,
    governed,
)
from tests.governor.words import object_id
from tests.support.streams import Holding, bytes_of, listening_streams, pausing_holder
from tests.support.waiting import until

pytestmark = pytest.mark.whole

MACHINE = bytes(range(16))


def test_copies_are_fetched_from_other_holders(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        # Given another holder (it is this governor itself, under its data address)
        async with listening_streams(governor.held) as there:
            make = governor.function(lambda ctx, size: b"x" * size)
            sizes = (10, MEMORY_LIMIT * 6)
            calls = [governor.call(make, size, outputs=(BLOB,)) for size in sizes]
            for call in calls:
                await governor.outputs(call)
            # When copies of unknown objects are ordered from there
            governor.place(500, BLOB, there.address)
            await governor.until(lambda: governor.server.unfetched)
            assert governor.server.unfetched == [object_id(500)]

    governed(tmp_path, scenario)


def test_a_source_that_does_not_answer_is_tried_twice_and_reported(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        governor.place(500, BLOB, "127.0.0.1:1")
        await governor.until(lambda: governor.server.unfetched)
        assert governor.server.unfetched == [object_id(500)]

    governed(tmp_path, scenario)


def test_fetched_copies_are_in_memory_or_in_the_store_as_they_are_large(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        small, large = b"small", bytes(range(256)) * 12_000
        little_folder = pack_tree({"a": {"b": "text"}})
        large_folder = pack_tree({"a": b"x" * MEMORY_LIMIT, "b": "text"})
        contents = (small, large, little_folder, large_folder)
        kinds = (BLOB, BLOB, FOLDER, FOLDER)
        holding = Holding({object_id(500 + i): data for i, data in enumerate(contents)})
        async with listening_streams(holding) as there:
            for i, kind in enumerate(kinds):
                governor.place(500 + i, kind, there.address)
            await governor.until(lambda: len(governor.server.located) == 4)
            assert [governor.read(500 + i) for i in range(4)] == list(contents)
            assert len(list(governor.folder.data.iterdir())) == 2

    governed(tmp_path, scenario)


def test_a_broken_archive_is_not_a_directory(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        async with listening_streams(Holding({object_id(500): b"x" * MEMORY_LIMIT})) as there:
            governor.place(500, FOLDER, there.address)
            await governor.until(lambda: governor.server.unfetched)
            assert list(governor.folder.data.iterdir()) == []

    governed(tmp_path, scenario)


def test_a_copy_that_is_not_wanted_any_more_is_not_fetched_to_its_end(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        with pausing_holder(MEMORY_LIMIT * 4) as there:
            governor.place(500, BLOB, there.address)
            await trio.to_thread.run_sync(there.pauses.wait)
            await until(lambda: list(governor.folder.data.iterdir()))
            governor.order(Orders(drops=[object_id(500)]))
            await trio.to_thread.run_sync(there.is_left.wait)
            await until(lambda: not list(governor.folder.data.iterdir()))
            assert not governor.server.located

    governed(tmp_path, scenario)


def test_governors_of_one_machine_share_their_files_and_copy_nothing(tmp_path: Path) -> None:
    # given: another governor's stored file and folder, on this machine
    theirs = tmp_path / "theirs"
    (theirs / "folder" / "deep").mkdir(parents=True)
    (theirs / "folder" / "deep" / "file").write_bytes(b"y" * MEMORY_LIMIT)
    (theirs / "folder" / "link").symlink_to("deep/file")
    (theirs / "file").write_bytes(b"x" * MEMORY_LIMIT)
    holding = Holding({object_id(500): theirs / "file", object_id(501): theirs / "folder"})

    async def scenario(governor: Running) -> None:
        async with listening_streams(holding, MACHINE) as there:
            # when
            governor.place(500, BLOB, there.address)
            governor.place(501, FOLDER, there.address)
            await governor.until(lambda: len(governor.server.located) == 2)

        # then: not one byte was copied, neither through a socket nor from file to file
        assert (governor.reader.received, governor.store.copied) == (0, 0)
        found = governor.held.find(object_id(500))
        assert isinstance(found, InFile)
        found.close()
        assert found.path.samefile(theirs / "file")
        assert governor.read(501) == bytes_of(InFolder(theirs / "folder"))
        # And it stays when the other one lets it go
        (theirs / "file").unlink()
        assert governor.read(500) == b"x" * MEMORY_LIMIT
        governor.order(Orders(drops=[object_id(500), object_id(501)]))
        await until(lambda: not list(governor.folder.data.iterdir()))
        assert (theirs / "folder" / "deep" / "file").exists()

    governed(tmp_path, scenario, machine=MACHINE)


def test_an_archive_is_no_directory_that_could_be_shared(tmp_path: Path) -> None:
    # given: a client's directory, which the server keeps as the archive that it got
    archive = tmp_path / "archive"
    archive.write_bytes(pack_tree({"a": b"x" * MEMORY_LIMIT}))

    async def scenario(governor: Running) -> None:
        async with listening_streams(Holding({object_id(500): archive}), MACHINE) as there:
            governor.place(500, FOLDER, there.address)
            await governor.until(lambda: governor.server.located)
        assert isinstance(governor.held.find(object_id(500)), InFolder)
        assert governor.read(500) == archive.read_bytes()

    governed(tmp_path, scenario, machine=MACHINE)


def test_what_cannot_be_shared_is_read(tmp_path: Path) -> None:
    # given: a place that another program on the same machine sees, and this one does not
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"x" * MEMORY_LIMIT)

    class Hidden(Holding):
        def find(self, object_id: ObjectId) -> Held | None:
            found = super().find(object_id)
            assert isinstance(found, InFile)
            return InFile(found.descriptor, tmp_path / "hidden")

    async def scenario(governor: Running) -> None:
        async with listening_streams(Hidden({object_id(500): theirs}), MACHINE) as there:
            governor.place(500, BLOB, there.address)
            await governor.until(lambda: governor.server.located)
        assert governor.reader.received == MEMORY_LIMIT
        assert governor.read(500) == theirs.read_bytes()

    governed(tmp_path, scenario, machine=MACHINE)


def test_a_file_of_another_filesystem_is_copied_by_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: a link that would lead to another filesystem
    def refuse(path: Path, target: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"x" * MEMORY_LIMIT)

    async def scenario(governor: Running) -> None:
        async with listening_streams(Holding({object_id(500): theirs}), MACHINE) as there:
            governor.place(500, BLOB, there.address)
            await governor.until(lambda: governor.server.located)
        assert (governor.reader.received, governor.store.copied) == (0, MEMORY_LIMIT)
        assert governor.read(500) == theirs.read_bytes()

    governed(tmp_path, scenario, machine=MACHINE)


def test_a_disk_that_is_full_fails_those_who_need_room_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store_module, "reserve", full)

    async def scenario(governor: Running) -> None:
        contents: dict[int, bytes | Path] = {
            object_id(500): b"x" * MEMORY_LIMIT,
            object_id(501): b"small",
        }
        async with listening_streams(Holding(contents)) as there:
            governor.place(500, BLOB, there.address)
            reader = governor.builtin("buildin/concat", {}, (500,))
            said = await governor.failure(reader)
            assert said.startswith("the input 1/500 cannot be stored on its governor: cannot write")
            assert said.endswith("No space left on device")
            assert governor.server.unfetched == []
            assert list(governor.folder.data.iterdir()) == []
            governor.place(501, BLOB, there.address)
            await governor.until(lambda: governor.server.located)

    governed(tmp_path, scenario)
