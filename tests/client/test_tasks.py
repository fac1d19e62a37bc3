"""Spec 1.12: the built-in tasks."""

from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    DataObject,
    Output,
    OutputDir,
    RainException,
    Session,
    Task,
    blob,
    directory,
    tasks,
)
from rain.common import DataType


def test_concat_takes_blobs(session: Session) -> None:
    task = tasks.Concat([blob("a"), tasks.Concat([])], name="joined")

    assert task.task_type == "buildin/concat"
    assert task.name == "joined"
    assert len(task.inputs) == 2
    assert task.output.data_type is DataType.BLOB
    assert len(tasks.Concat(()).inputs) == 0
    with pytest.raises(TypeError, match="directory"):
        tasks.Concat([directory()])


def test_sleep_passes_its_input_on(session: Session) -> None:
    task = tasks.Sleep(blob("x"), 0.12345, cpus=2)

    assert task.task_type == "buildin/sleep"
    assert task.spec.config == 0.123
    assert task.spec.resources == {"cpus": 2}
    assert task.output.content_type == "text"
    assert tasks.Sleep(directory(), 1).output.data_type is DataType.DIRECTORY
    assert tasks.Sleep(blob("x"), 0).spec.config == 0.0


def test_load_opens_files_and_directories(session: Session, tmp_path: Path) -> None:
    file = tasks.Load(tmp_path, Output("mine", content_type="json"))
    folder = tasks.LoadDir("/data", OutputDir("mine"))

    assert (file.task_type, file.spec.config) == ("buildin/open", {"path": str(tmp_path)})
    assert (file.output.label, file.output.content_type) == ("mine", "json")
    assert (folder.task_type, folder.spec.config) == ("buildin/open_dir", {"path": "/data"})
    assert (folder.output.label, folder.output.data_type) == ("mine", DataType.DIRECTORY)
    assert tasks.Load("/x", "label").output.label == "label"
    assert tasks.LoadDir("/x", "label").output.data_type is DataType.DIRECTORY
    with pytest.raises(TypeError):
        tasks.Load("/x", OutputDir("a"))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake
    with pytest.raises(TypeError):
        tasks.LoadDir("/x", Output("a"))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake


def test_store_has_no_output(session: Session) -> None:
    task = tasks.Store(directory(), "/target")

    assert (task.task_type, task.spec.config) == ("buildin/export", {"path": "/target"})
    assert len(task.outputs) == 0


def test_make_directory_takes_pairs_or_a_mapping(session: Session) -> None:
    a, base = blob("a"), directory()

    of_pairs = tasks.MakeDirectory([("x/a", a), (".", base)])
    of_mapping = tasks.MakeDirectory({"x/a": a, "": base})

    assert of_pairs.task_type == "buildin/make_directory"
    assert of_pairs.spec.config == {"paths": ["x/a", "."]}
    assert of_mapping.spec.config == {"paths": ["x/a", ""]}
    assert of_pairs.inputs.data == of_mapping.inputs.data == [a, base]
    assert of_pairs.output.data_type is DataType.DIRECTORY


@pytest.mark.parametrize("wrong", [["ab"], [("a",)], [(1, 2)], 5, [5]])
def test_make_directory_refuses_what_are_no_pairs(session: Session, wrong: Any) -> None:
    with pytest.raises(TypeError):
        tasks.MakeDirectory(wrong)


def test_slice_directory_takes_a_file_or_a_directory(session: Session) -> None:
    folder = directory()

    file = tasks.SliceDirectory(folder, "a/b")
    sub = tasks.SliceDirectory(folder, "a/")

    assert (file.task_type, file.spec.config) == ("buildin/slice_directory", {"path": "a/b"})
    assert (file.output.label, file.output.data_type) == ("a/b", DataType.BLOB)
    assert (sub.output.label, sub.output.data_type) == ("a/", DataType.DIRECTORY)
    assert tasks.SliceDirectory(folder, "a", Output("mine")).output.label == "mine"
    with pytest.raises(TypeError, match="is a blob"):
        tasks.SliceDirectory(blob("x"), "a")
    with pytest.raises(TypeError):
        tasks.SliceDirectory(folder, "a", OutputDir("x"))
    with pytest.raises(TypeError):
        tasks.SliceDirectory(folder, "a/", Output("x"))


def test_tasks_may_name_their_session(session: Session) -> None:
    other = Session(None, 8)
    with other.bind_only():
        const, folder = blob("x"), directory()
    made: list[Task] = [
        tasks.Concat([const], session=other),
        tasks.Sleep(const, 1, session=other),
        tasks.Load("/x", session=other),
        tasks.LoadDir("/x", session=other),
        tasks.Store(const, "/x", session=other),
        tasks.MakeDirectory({"a": const}, session=other),
        tasks.SliceDirectory(folder, "a", session=other),
        tasks.Execute("true", session=other),
    ]

    assert {task.id.session_id for task in made} == {8}
    assert session.task_count == 0


def test_other_values_are_no_inputs(session: Session) -> None:
    for value in ("text", 5):
        with pytest.raises(RainException, match=r"blob\(\)"):
            tasks.Store(value, "/x")
    assert isinstance(tasks.Concat([blob("x")]).output, DataObject)


def test_a_relative_path_begins_in_the_folder_of_the_client(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = [
        tasks.Load("data/x.csv"),
        tasks.LoadDir(Path("data")),
        tasks.Store(blob("x"), "../stored"),
    ]
    monkeypatch.chdir("/")

    assert [task.spec.config["path"] for task in made] == [
        str(tmp_path / "data" / "x.csv"),
        str(tmp_path / "data"),
        str(tmp_path.parent / "stored"),
    ]
    assert tasks.Load("/absolute/path").spec.config == {"path": "/absolute/path"}
