"""Spec 1.12: the tasks of the governor, directories of every kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rain.client import Client, InputDir, Output, Session, Task, blob, directory, tasks
from rain.common import DataInstance
from tests.compat.running import failure, result, results

pytestmark = pytest.mark.whole


def paths(found: DataInstance, folder: Path) -> list[str]:
    """What is in a directory."""
    found.write(folder)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_an_empty_concat_is_an_empty_blob(session: Session) -> None:
    (found,) = results(tasks.Concat([]))

    assert found.get_bytes() == b""
    assert "0 B" in repr(found)


def test_sleep_passes_on_whatever_it_gets(session: Session, tmp_path: Path) -> None:
    asleep = [
        tasks.Sleep(blob([1], encode="json"), 0.001),
        tasks.Sleep(directory({"a": "1", "e": {}}), 0.001),
        tasks.Sleep(tasks.Concat([]), 0),
    ]

    value, folder, nothing = results(*asleep)

    assert value.load() == [1]
    assert paths(folder, tmp_path / "folder") == ["a", "e"]
    assert nothing.get_bytes() == b""


def test_files_and_directories_of_the_governor(session: Session, tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("[1]")
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "large").write_bytes(bytes(300_000))
    loaded = tasks.Load(str(file), Output("value", content_type="json"))
    loaded_folder = tasks.LoadDir(str(folder), "label")
    large = tasks.SliceDirectory(loaded_folder, "sub/large")

    found = results(loaded, loaded_folder, large)
    file.write_text("changed later")

    assert loaded.output.fetch().load() == [1]
    assert loaded_folder.output.label == "label"
    assert paths(found[1], tmp_path / "copy") == ["sub", "sub/empty", "sub/large"]
    assert found[2].get_bytes() == bytes(300_000)


def test_store_writes_blobs_and_directories(session: Session, tmp_path: Path) -> None:
    made = directory({"a": "1", "sub": {"b": "2"}, "empty": {}})
    stored = [
        tasks.Store(made, str(tmp_path / "folder")),
        tasks.Store(blob("x"), str(tmp_path / "file")),
    ]
    session.submit()
    session.wait(stored)

    assert (tmp_path / "file").read_text() == "x"
    assert (tmp_path / "folder" / "sub" / "b").read_text() == "2"
    assert (tmp_path / "folder" / "empty").is_dir()
    assert all(len(task.outputs) == 0 for task in stored)


def test_directories_are_built_of_each_other(session: Session, tmp_path: Path) -> None:
    base = directory({"x": {"y": "deep"}, "empty": {}})
    nothing = directory({})
    made = [
        tasks.MakeDirectory([("a", base), ("b/c", nothing), ("b/d", blob("file"))]),
        tasks.MakeDirectory([(".", base), ("new", nothing)]),
        tasks.MakeDirectory({"": base, "x/z": blob("beside")}),
        tasks.MakeDirectory([]),
    ]

    found = results(*made)

    listed = [paths(one, tmp_path / str(i)) for i, one in enumerate(found)]
    assert listed == [
        ["a", "a/empty", "a/x", "a/x/y", "b", "b/c", "b/d"],
        ["empty", "new", "x", "x/y"],
        ["empty", "x", "x/y", "x/z"],
        [],
    ]


def test_parts_of_directories(session: Session, tmp_path: Path) -> None:
    whole = directory({"a": {"b": {"c": "1", "empty": {}}}})
    file = tasks.SliceDirectory(whole, "a/b/c")
    folder = tasks.SliceDirectory(whole, "a/b/")
    empty = tasks.SliceDirectory(folder, "empty/")

    found = results(file, folder, empty)

    assert file.output.label == "a/b/c"
    assert found[0].get_bytes() == b"1"
    assert paths(found[1], tmp_path / "folder") == ["c", "empty"]
    assert paths(found[2], tmp_path / "empty") == []


def test_a_local_folder_arrives_as_it_is(session: Session, tmp_path: Path) -> None:
    local = tmp_path / "local"
    (local / "empty").mkdir(parents=True)
    (local / "program").write_text("#!/bin/sh\necho ran\n")
    (local / "program").chmod(0o755)
    (local / "link").symlink_to("program")
    task = tasks.Execute(
        ["sh", "-c", "folder/program; folder/link; ls folder"],
        stdout=True,
        input_paths=[InputDir("folder", dataobj=directory(str(local)))],
    )

    assert result(task).split() == [b"ran", b"ran", b"empty", b"link", b"program"]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tasks.Load("relative"), str(Path.cwd() / "relative")),
        (lambda: tasks.Load("/nothing/here"), "/nothing/here"),
        (lambda: tasks.LoadDir("/etc/passwd"), "/etc/passwd"),
        (lambda: Task((), 1, task_type="buildin/open", config={"path": "a"}), "not absolute"),
        (lambda: tasks.SliceDirectory(directory({"a": "1"}), "b"), "'b'"),
        (lambda: tasks.SliceDirectory(directory({"a": "1"}), "a/"), "must be a directory"),
        (lambda: tasks.SliceDirectory(directory({"a": {}}), "a"), "must be a file"),
        (lambda: tasks.MakeDirectory({".": blob("x")}), "base of a directory"),
        (lambda: tasks.MakeDirectory({"../x": blob("x")}), "../x"),
    ],
)
def test_what_cannot_be_fails_by_name(
    client: Client, build: Callable[[], Task], words: str
) -> None:
    assert words in failure(client, build)
