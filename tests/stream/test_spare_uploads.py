"""Uploads that are written over files of uploads that have gone, and files that must not change."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.stream import spare_uploads
from rain.stream.bodies import OfFile
from rain.stream.spare_files import FOLDER, LEAST
from rain.stream.spare_uploads import TAKEN, SpareUploads
from rain.stream.staged import Staged, stage
from tests.support.full_disk import files_no_larger_than


class Server:
    """The upload folder of a server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spares = SpareUploads.make(folder)
        assert spares is not None, "this kernel tells which files are in use"
        self.spares = spares

    def stage(self, *parts: bytes) -> Staged:
        made = stage(str(self.folder), parts)
        assert made is not None
        return made

    def upload(self, data: bytes, name: str = "constant") -> Path:
        path = self.folder / name
        self.stage(data).link(str(path))
        return path

    def files(self, folder: str) -> int:
        return len(list((self.folder / folder).iterdir()))


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


OLD = b"o" * LEAST
NEW = b"n" * LEAST


def inode_of(made: Staged) -> int:
    return os.fstat(made.descriptor).st_ino


def test_an_upload_is_written_over_the_file_of_one_that_has_gone(server: Server) -> None:
    path = server.upload(OLD)
    inode = path.stat().st_ino
    assert server.spares.keep(path)
    made = server.stage(NEW)
    assert inode_of(made) == inode
    assert made.view() == NEW
    made.link(str(path))
    assert path.read_bytes() == NEW
    assert path.stat().st_nlink == 1
    assert path.stat().st_mode & 0o777 == 0o444, "tasks may read it, and nobody may change it"
    assert server.files(TAKEN) == 0
    assert server.spares.keep(path), "and so on"


@given(old=st.integers(LEAST, 4 * LEAST), new=st.integers(LEAST, 4 * LEAST))
def test_the_file_has_the_new_bytes_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, old: int, new: int
) -> None:
    server = Server(tmp_path_factory.mktemp("server"))
    assert server.spares.keep(server.upload(bytes(old)))
    parts = [b"head", os.urandom(new), b"tail"]
    made = server.stage(*parts)
    assert made.view() == b"".join(parts)


def test_an_upload_that_is_not_made_after_all_leaves_nothing(server: Server) -> None:
    server.spares.keep(server.upload(OLD))
    made = server.stage(NEW)
    assert server.files(TAKEN) == 1
    del made
    assert server.files(TAKEN) == server.files(FOLDER) == 0


def test_a_file_that_a_client_has_mapped_is_not_written_over(server: Server) -> None:
    made = server.stage(OLD)
    view = made.view()
    made.link(str(server.folder / "constant"))
    del made
    assert server.spares.keep(server.folder / "constant")
    server.upload(NEW)
    assert view == OLD


def test_a_file_to_which_a_governor_links_is_not_written_over(server: Server) -> None:
    path = server.upload(OLD)
    linked = server.folder / "of a governor"
    linked.hardlink_to(path)
    assert server.spares.keep(path), "the governor may remove its link before the next upload"
    server.upload(NEW)
    assert linked.read_bytes() == OLD


def test_a_file_is_written_over_when_governors_have_removed_their_links(server: Server) -> None:
    path = server.upload(OLD)
    inode = path.stat().st_ino
    linked = server.folder / "of a governor"
    linked.hardlink_to(path)
    server.spares.keep(path)
    linked.unlink()
    assert inode_of(server.stage(NEW)) == inode


def test_a_file_that_was_sent_through_a_socket_is_not_kept(server: Server) -> None:
    path = server.upload(OLD)
    ours, theirs = socket.socketpair()
    with ours, theirs, path.open("rb") as file:
        OfFile(file.fileno(), 0, 100).send(ours, 0, 100)
    assert not server.spares.keep(path)


def test_the_server_does_not_keep_what_it_has_received_through_a_socket(server: Server) -> None:
    path = server.folder / "received"
    path.write_bytes(OLD)
    assert not server.spares.keep(path)
    assert not server.spares.is_awake


def test_without_a_spare_file_a_new_one_is_made(server: Server, tmp_path: Path) -> None:
    assert server.stage(OLD).view() == OLD
    (tmp_path / "of an older server").mkdir()
    made = stage(str(tmp_path / "of an older server"), [OLD])
    assert made is not None
    assert made.view() == OLD


def test_the_folder_of_another_user_has_no_spare_files(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.spares.keep(server.upload(OLD))

    def listed(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", listed)
    assert server.stage(NEW).view() == NEW


def test_a_file_that_cannot_grow_is_removed_and_a_new_one_says_why(server: Server) -> None:
    server.spares.keep(server.upload(OLD))
    with files_no_larger_than(2 * LEAST - 1):
        assert stage(str(server.folder), [bytes(2 * LEAST)]) is None
    assert server.files(TAKEN) == server.files(FOLDER) == 0


def test_files_are_given_back_when_none_was_added_since_the_last_time(server: Server) -> None:
    server.spares.keep(server.upload(OLD, "first"))
    server.spares.give_back()
    server.spares.keep(server.upload(bytes(3 * LEAST), "second"))
    server.spares.give_back()
    assert server.files(FOLDER) == 2
    assert server.spares.is_awake
    server.spares.give_back()
    assert server.files(FOLDER) == 0
    assert not server.spares.is_awake


def test_what_a_killed_client_has_taken_is_given_back_and_what_a_living_one_has_is_not(
    server: Server,
) -> None:
    server.spares.keep(server.upload(OLD))
    made = server.stage(NEW)
    killed = server.folder / TAKEN / "killed"
    killed.write_bytes(OLD)
    server.spares.give_back()
    assert not killed.exists()
    server.spares.give_back()
    assert server.files(TAKEN) == 1
    assert server.spares.is_awake, "the client may end any time"
    made.link(str(server.folder / "constant"))
    server.spares.give_back()
    assert not server.spares.is_awake
    assert (server.folder / "constant").read_bytes() == NEW


def test_spare_files_take_a_part_of_what_is_free(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spare_uploads, "memory_left", lambda: 10 * LEAST)
    assert server.spares.keep(server.upload(OLD))
    monkeypatch.setattr(spare_uploads, "memory_left", lambda: 10 * LEAST - 10)
    assert not server.spares.keep(server.upload(OLD, "another"))
