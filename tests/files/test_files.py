"""Handles of files: found once, read anywhere, and not if they have changed."""

from __future__ import annotations

import gzip
import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from rain.files import (
    AccessError,
    ChangedFileError,
    File,
    FilesError,
    MissingFileError,
    MissingPackageError,
    create_file,
    open_files,
    systems,
)
from rain.files.places import checked, local_path, shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(f"{name}\n" * 3)
    (tmp_path / "sub").mkdir()
    return tmp_path


def test_patterns_are_listed_in_order_and_folders_are_no_files(folder: Path) -> None:
    assert [file.name for file in open_files("*")] == ["a.txt", "b.txt", "c.csv"]
    given: list[str | Path] = ["*.csv", folder / "a.txt", f"file://{folder}/b.*"]
    assert [file.path for file in open_files(given)] == [
        folder / name for name in ("c.csv", "a.txt", "b.txt")
    ]


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("none.txt", MissingFileError, "none.txt: there is no such file"),
        ("*.none", MissingFileError, r"\*.none: no file matches"),
        ("sub", FilesError, r"sub is a directory: write .*sub/\*"),
        ("none://x/y", FilesError, "none://x/y: Protocol not known"),
        ("zip://a::s3://b/c", FilesError, "URLs inside of URLs"),
        ("sftp://me:hidden@host/x", FilesError, r"sftp://host/x: a password in a URL .*options"),
        ("gs://bucket/x", MissingPackageError, "gs://bucket/x: .*: pip install 'gcsfs'"),
        ("memory://none/x", MissingFileError, "there is no such file"),
        ("memory://none/*", MissingFileError, "there is no such file|no file matches"),
    ],
)
def test_what_cannot_be_found_is_named(
    folder: Path, url: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        open_files(url)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("s3://bucket/x", "pip install 'rain-tasks.s3.'"),
        ("memory://x", "pip install 'rain-tasks.files.'"),
    ],
)
def test_without_fsspec_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, url: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.compression", None)
    with pytest.raises(MissingPackageError, match=line):
        open_files(url)


def test_files_of_this_machine_need_no_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.compression", None)
    assert open_files("a.txt")[0].read_text() == "a.txt\n" * 3
    with create_file("new"):
        pass


def test_a_handle_opens_again_in_another_process_as_bytes_and_as_text(folder: Path) -> None:
    (file,) = open_files("a.txt")
    sent: File = pickle.loads(pickle.dumps(file))
    assert sent == file
    assert hash(sent) == hash(file)
    with sent as one, sent as two:
        assert one.readline() == two.readline() == b"a.txt\n"
    with sent.open("r") as stream:
        assert stream.read() == "a.txt\n" * 3
    with pytest.raises(ValueError, match="can be read only"):
        sent.open("wb")


def test_functions_that_take_paths_take_files_of_this_machine(folder: Path) -> None:
    (file,) = open_files("a.txt")
    assert Path(file).read_text() == "a.txt\n" * 3
    far = File("s3://bucket/a", 1, "")
    for one, what in ((far, "no file of this machine"), (evolve(file, start=1), "a block")):
        with pytest.raises(TypeError, match=f"is {what}.*: give what its open"):
            Path(one)


def test_blocks_have_each_line_once(folder: Path) -> None:
    lines = [f"line {number}\n".encode() for number in range(100)]
    (folder / "long.txt").write_bytes(b"".join(lines))
    blocks = open_files("long.txt", block_size=64)
    assert len(blocks) > 5
    found = [line for block in blocks for line in block.open()]
    assert found == lines
    assert [len(open_files("a.txt", block_size=size)) for size in ("1KiB", 18, 17)] == [1, 1, 2]


def test_compressed_files_are_read_by_their_names(folder: Path) -> None:
    (folder / "a.gz").write_bytes(gzip.compress(b"drop"))
    (file,) = open_files("a.gz")
    with file.open(compression="infer") as stream:
        assert stream.read() == b"drop"
    with pytest.raises(ValueError, match=r"compression 'none' is not known here; there are .*gzip"):
        file.open(compression="none")


def test_a_file_that_has_changed_is_not_read(folder: Path) -> None:
    (whole,) = open_files("a.txt")
    first, *_ = open_files("a.txt", block_size=5)
    (folder / "a.txt").write_text("other")
    for file in (whole, first):
        with pytest.raises(ChangedFileError, match=r"a\.txt has changed .* 18 bytes .* 5 bytes"):
            file.read_bytes()
    with pytest.raises(ChangedFileError):
        whole.download(folder / "copy")


def test_what_a_user_gives_for_a_store_is_not_shown(folder: Path) -> None:
    (file,) = open_files("a.txt", storage_options={"secret": "hidden"})
    assert "hidden" not in f"{file!r} {file}"
    assert "hidden" not in repr(open_files("a.txt", storage_options={"secret": "hidden"}))
    assert shown("https://host/a?X-Amz-Signature=hidden") == "https://host/a"


def test_paths_and_urls_are_told_apart(folder: Path) -> None:
    assert local_path(checked("a.txt")) == folder / "a.txt"
    assert local_path(checked("file:///a%20b")) == Path("/a b")
    assert checked("s3://bucket/key") == "s3://bucket/key"


def test_files_of_other_systems_are_read_as_well() -> None:
    memory: Any = import_module("fsspec").filesystem("memory")
    memory.pipe_file("/store/a", b"drop\ndrop\n")
    (file,) = open_files("memory://store/*")
    assert file.read_bytes() == b"drop\ndrop\n"
    blocks = open_files("memory://store/a", block_size=4)
    assert [block.read_bytes() for block in blocks] == [b"drop\n", b"drop\n", b""]
    memory.rm("/store/a")


def test_a_file_needs_a_name() -> None:
    refused = pytest.raises(FilesError, match="s3://bucket/folder/ is the name of a directory")
    with refused, create_file("s3://bucket/folder/"):
        pass


@pytest.mark.parametrize("url", ["memory://store/a", "https://host/a"])
def test_nothing_is_written_where_others_could_see_a_half_of_it(url: str) -> None:
    with pytest.raises(FilesError, match=f"{url}: nothing is written"), create_file(url):
        pass


class NoCredentialsError(Exception):
    """As botocore has it."""


@pytest.mark.parametrize(
    ("raised", "told", "message"),
    [
        (
            NoCredentialsError("?"),
            AccessError,
            "s3://b/c: there are no credentials here.*AWS_ACCESS",
        ),
        (PermissionError("Forbidden"), AccessError, "s3://b/c: access is refused: Forbidden"),
        (
            FileNotFoundError("The specified bucket does not exist"),
            MissingFileError,
            "there is no such bucket",
        ),
        (ConnectionError("refused"), FilesError, "its store cannot be reached: refused"),
        (OSError(5, "broken"), FilesError, "s3://b/c: broken"),
    ],
)
def test_failures_of_a_store_are_named(
    raised: Exception, told: type[Exception], message: str
) -> None:
    with pytest.raises(told, match=message), systems.naming("s3://b/c?signature"):
        raise raised


def test_mistakes_of_programs_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), systems.naming("s3://b/c"):
        raise ZeroDivisionError
