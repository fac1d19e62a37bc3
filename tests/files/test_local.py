"""Files and directories on disks appear when they are complete, and leave nothing when not."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rain.files import (
    AccessError,
    ChangedFileError,
    FileExistsAlready,
    FilesError,
    MissingFileError,
    MissingPackageError,
    UnreachableStoreError,
    create_file,
    save_path,
)
from rain.files.local import created, created_folder, part_of

# Writes a half of a file or folder, says so, and waits to be killed.
HALF = """
import sys, time
from pathlib import Path
from rain.files import local
path = Path(sys.argv[1])
if sys.argv[2] == "file":
    with local.created(path, overwrite=True) as stream:
        stream.write(b"half")
        stream.flush()
        print("half", flush=True)
        time.sleep(600)
with local.created_folder(path, overwrite=True) as folder:
    (folder / "one").write_text("half")
    print("half", flush=True)
    time.sleep(600)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def half(path: Path, kind: str) -> subprocess.Popen[bytes]:
    """A program that has written a half of it."""
    program = subprocess.Popen(
        [sys.executable, "-c", HALF, str(path), kind], stdout=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdout.readline() == b"half\n"
    return program


def kill(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGKILL)
    program.communicate()


def test_a_file_is_there_after_its_block_and_not_before(tmp_path: Path) -> None:
    with create_file(tmp_path / "new" / "a") as stream:
        stream.write(b"drop")
        assert not (tmp_path / "new" / "a").exists()
    assert (tmp_path / "new" / "a").read_bytes() == b"drop"
    assert names(tmp_path / "new") == ["a"]


def test_nothing_is_there_after_a_block_that_raises(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), create_file(tmp_path / "a"):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), created_folder(tmp_path / "b", overwrite=False):
        raise ZeroDivisionError
    assert not names(tmp_path)


def test_a_file_that_is_there_stays_until_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(FileExistsAlready, match="overwrite=True"), create_file(path):
        pass
    with create_file(path, overwrite=True) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    made = create_file(tmp_path / "a")
    made.__enter__().write(b"mine")
    (tmp_path / "a").write_text("theirs")
    with pytest.raises(FileExistsAlready):
        made.__exit__(None, None, None)
    assert (tmp_path / "a").read_text() == "theirs"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_one_removes_what_a_killed_process_has_left(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    kill(half(path, kind))
    assert names(tmp_path) == [part_of(path).name]

    if kind == "file":
        with create_file(path) as stream:
            stream.write(b"x")
        assert path.read_bytes() == b"x"
    else:
        with created_folder(path, overwrite=False) as folder:
            (folder / "two").write_text("x")
        assert names(path) == ["two"]
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_two_at_a_time_do_not_write_into_each_other(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    making = (created if kind == "file" else created_folder)(path, overwrite=True)
    other = half(path, kind)
    try:
        with pytest.raises(FilesError, match="is being written"):
            making.__enter__()
    finally:
        kill(other)


def test_a_folder_replaces_another_one_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder, name in ((source, "new"), (target, "old")):
        folder.mkdir()
        (folder / name).write_text(name)
    (source / "new").chmod(0o444)
    with pytest.raises(FileExistsAlready):
        save_path(source, target, overwrite=False, storage_options={})
    files = save_path(source, target, overwrite=True, storage_options={})
    assert names(target) == ["new"]
    assert [file.read_text() for file in files] == ["new"]
    assert os.access(target / "new", os.W_OK)
    assert names(tmp_path) == ["source", "target"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_folder_is_there_again_whose_replacement_was_killed_between_the_renames(
    tmp_path: Path, is_replaced: bool
) -> None:
    target, old = tmp_path / "target", tmp_path / ".target.rain-old"
    old.mkdir()
    (old / "old").write_text("old")
    if is_replaced:
        target.mkdir()
        (target / "new").write_text("new")
    with pytest.raises(ZeroDivisionError), created_folder(target, overwrite=True):
        raise ZeroDivisionError
    assert names(target) == ["new" if is_replaced else "old"]
    assert names(tmp_path) == ["target"]


def test_a_link_stays_and_a_device_is_written_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with create_file(tmp_path / "link") as stream:
        stream.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"x"
    (tmp_path / "null").symlink_to("/dev/null")
    with create_file(tmp_path / "null", overwrite=True) as stream:
        stream.write(b"x")
    assert Path("/dev/null").is_char_device()


def test_a_file_system_without_locks_and_links_is_written_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", lacking)
    monkeypatch.setattr(Path, "hardlink_to", lacking)
    with create_file(tmp_path / "a") as stream:
        stream.write(b"x")
    with pytest.raises(FileExistsAlready), create_file(tmp_path / "a"):
        pass
    with created_folder(tmp_path / "b", overwrite=False) as folder:
        (folder / "one").write_text("x")
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize(
    "kind",
    [
        FilesError,
        MissingFileError,
        AccessError,
        ChangedFileError,
        FileExistsAlready,
        MissingPackageError,
        UnreachableStoreError,
    ],
)
def test_what_has_gone_wrong_in_a_task_is_the_same_in_the_program(kind: type[FilesError]) -> None:
    sent = pickle.loads(pickle.dumps(kind("s3://bucket/a: why")))
    assert type(sent) is kind
    assert str(sent) == "s3://bucket/a: why"


def test_what_cannot_be_made_is_named_as_the_program_has_named_it(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)  # with the end of an unfinished one it is too long
    for make in (created, created_folder):
        with pytest.raises(OSError, match="File name too long") as raised:
            make(path, overwrite=True).__enter__()
        assert raised.value.filename == str(path)
