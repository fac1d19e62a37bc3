"""Directories travel as archives that are never written anywhere."""

import io
import os
import socket
import tarfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rain.common.fs import pack_directory
from rain.stream.archive import Archive, ChangedError, receive_folder
from rain.stream.holder import InFolder
from rain.stream.sockets import BrokenError
from tests.support.streams import bytes_of

names = st.text("abc", min_size=1, max_size=3)
trees = st.recursive(
    st.binary(max_size=1500), lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=8
)


def lay_out(folder: Path, tree: dict[str, Any]) -> None:
    for name, content in tree.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).mkdir()
            lay_out(folder / name, content)


def unpacked(archive: bytes, target: Path, length: int | None = None) -> None:
    """Unpacks what comes out of a socket."""
    here, there = socket.socketpair()
    with here, there:
        sender = threading.Thread(target=_send, args=(there, archive))
        sender.start()
        try:
            receive_folder(here, target, len(archive) if length is None else length)
        finally:
            here.shutdown(socket.SHUT_RDWR)
            sender.join()


def _send(there: socket.socket, archive: bytes) -> None:
    try:
        there.sendall(archive)
        there.shutdown(socket.SHUT_WR)
    except BrokenPipeError:
        return  # the reader has had enough


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tree=st.dictionaries(names, trees, max_size=4))
def test_any_directory_is_sent_as_the_archive_that_a_client_would_make_and_unpacked_again(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    lay_out(folder, tree)
    packed = pack_directory(folder)
    assert Archive.of(folder).length == len(packed)
    assert bytes_of(InFolder(folder)) == packed
    copy = tmp_path_factory.mktemp("copy") / "copy"
    unpacked(packed, copy)
    assert pack_directory(copy) == packed


def test_a_folder_that_shrinks_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1000)
    archive = Archive.of(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    here, there = socket.socketpair()
    with here, there, pytest.raises(BrokenError, match="became shorter"):
        archive.body().send(there, 0, archive.length)


def test_what_is_no_file_cannot_be_archived(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ChangedError, match="neither a file nor a directory"):
        Archive.of(tmp_path)


def test_what_is_no_archive_cannot_be_unpacked(tmp_path: Path) -> None:
    with pytest.raises(tarfile.TarError):
        unpacked(b"no archive at all" * 1000, tmp_path / "copy")


def test_an_archive_that_is_cut_is_a_broken_stream(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(bytes(100_000))
    packed = pack_directory(tmp_path / "folder")
    with pytest.raises(BrokenError, match="cut"):
        unpacked(packed[:50_000], tmp_path / "copy", len(packed))


def test_an_archive_cannot_write_outside_of_its_folder(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("../escaped")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(tarfile.TarError):
        unpacked(packed.getvalue(), tmp_path / "copy")
    assert not (tmp_path / "escaped").exists()


def test_links_that_lead_anywhere_come_as_they_are(tmp_path: Path) -> None:
    # given: links to an absolute path, out of the directory, to nothing, and in a circle
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    leads = {"absolute": "/etc/hostname", "out": "../../x", "none": "nothing", "circle": "circle"}
    for name, target in leads.items():
        (folder / "deep" / name).symlink_to(target)
    (folder / "below").symlink_to("deep")

    # when
    unpacked(bytes_of(InFolder(folder)), tmp_path / "copy")

    # then
    for name, target in leads.items():
        assert (tmp_path / "copy" / "deep" / name).readlink() == Path(target)
    assert (tmp_path / "copy" / "below").readlink() == Path("deep")


@pytest.mark.parametrize("below", [tarfile.REGTYPE, tarfile.SYMTYPE])
def test_nothing_is_written_through_a_link(tmp_path: Path, below: bytes) -> None:
    # given: a link out of the directory, and an entry below that link
    (tmp_path / "other").mkdir()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, kind in (("door", tarfile.SYMTYPE), ("door/escaped", below)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(tmp_path / "other")
            archive.addfile(info)

    # when
    with suppress(tarfile.TarError, OSError):  # what is not refused is written below the directory
        unpacked(packed.getvalue(), tmp_path / "copy")

    # then
    assert not any((tmp_path / "other").iterdir())
