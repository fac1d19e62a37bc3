import io
import os
import tarfile
from pathlib import Path

import pytest

from rain.common import RainException
from rain.common.fs import (
    Tree,
    copy_writable,
    pack_directory,
    pack_tree,
    unpack,
)


def names(data: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return archive.getnames()


def test_a_directory_comes_back_with_empty_folders_links_and_programs(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "file").write_bytes(b"content")
    (source / "link").symlink_to("file")
    (source / "program").write_bytes(b"#!/bin/sh\n")
    (source / "program").chmod(0o700)

    unpack(pack_directory(source), tmp_path / "copy")

    copy = tmp_path / "copy"
    assert (copy / "empty").is_dir()
    assert (copy / "link").readlink() == Path("file")
    assert (copy / "file").read_bytes() == b"content"
    assert os.access(copy / "program", os.X_OK)
    assert not os.access(copy / "file", os.X_OK)


def test_links_come_back_wherever_they_lead(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "absolute").symlink_to("/etc/hostname")
    (source / "out").symlink_to("../../x")

    for _ in range(2):  # also over what is there already
        unpack(pack_directory(source), tmp_path / "copy")

    assert (tmp_path / "copy" / "absolute").readlink() == Path("/etc/hostname")
    assert (tmp_path / "copy" / "out").readlink() == Path("../../x")


def test_what_cannot_be_unpacked_or_packed_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RainException, match=r"^The directory cannot be unpacked into .*copy: "):
        unpack(b"no archive", tmp_path / "copy")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RainException, match=r"^The directory cannot be packed: './pipe' is"):
        pack_directory(tmp_path)


def test_equal_directories_have_equal_archives(tmp_path: Path) -> None:
    for name, order in (("a", "xy"), ("b", "yx")):
        (tmp_path / name).mkdir()
        for file in order:
            (tmp_path / name / file).write_text(file)
    os.utime(tmp_path / "a" / "x", (1, 1))

    assert pack_directory(tmp_path / "a") == pack_directory(tmp_path / "b")
    assert pack_directory(tmp_path / "a") == pack_tree({"y": "y", "x": b"x"})


def test_a_mapping_describes_folders_by_paths_and_by_mappings() -> None:
    packed = pack_tree({"a/b": "text", "c": {"d": b"bytes", "e": {}}})

    assert names(packed) == [".", "./a", "./a/b", "./c", "./c/d", "./c/e"]
    assert names(pack_tree({})) == ["."]


@pytest.mark.parametrize(
    "tree",
    [
        {"/etc/passwd": ""},
        {"../up": ""},
        {"": ""},
        {".": ""},
        {"a": "", "a/b": ""},
        {"a/b": "", "a": {"b": ""}},
    ],
)
def test_a_mapping_cannot_name_what_lies_outside_or_one_thing_twice(tree: Tree) -> None:
    with pytest.raises(RainException):
        pack_tree(tree)


def test_what_is_no_directory_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(RainException, match="nowhere"):
        pack_directory(tmp_path / "nowhere")


def test_a_copy_of_a_read_only_tree_may_be_changed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "link").symlink_to("file")
    (source / "file").write_text("x")
    (source / "file").chmod(0o400)

    copy_writable(source, tmp_path / "copy")
    (tmp_path / "copy" / "file").write_text("y")

    assert (tmp_path / "copy" / "link").is_symlink()
    assert (source / "file").read_text() == "x"
