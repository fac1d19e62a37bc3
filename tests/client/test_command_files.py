"""A command runs in a folder of its own: relative paths to other files do not go unnoticed."""

import warnings
from pathlib import Path

import pytest

from rain.client import Input, Output, RainException, RainWarning, Session, blob, tasks


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's program, with two files."""
    (tmp_path / "tool").write_text("")
    (tmp_path / "script.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("program", ["./tool", "sub/tool", "../tool"])
def test_a_program_of_the_users_folder_is_refused_with_the_path_to_write(
    session: Session, folder: Path, program: str
) -> None:
    with pytest.raises(RainException) as refused:
        tasks.Execute([program, "1"])
    assert f"the program {program!r} would be looked for in the folder of the task" in str(
        refused.value
    )
    assert str(folder / program.removeprefix("./")) in str(refused.value)


def test_a_file_of_the_users_folder_is_warned_of_where_the_user_names_it(
    session: Session, folder: Path
) -> None:
    with pytest.warns(RainWarning, match="'script.py' is a file of your folder") as warned:
        tasks.Execute(["python3", "script.py"])
    assert str(folder / "script.py") in str(warned[0].message)
    assert warned[0].filename == __file__


def test_what_is_in_the_folder_of_the_task_is_meant(session: Session, folder: Path) -> None:
    tool = Input("tool", path="tool", dataobj=blob(b"#!/bin/sh"))
    script = Input("script", path="script.py", dataobj=blob(b"1"))
    with warnings.catch_warnings(action="error"):
        tasks.Execute(["./tool", "script.py"], input_paths=[tool, script])
        tasks.Execute(["touch", "script.py"], output_paths=["script.py"])
        tasks.Execute(["touch", Output("made", path="script.py")])
        tasks.Execute("./tool script.py", shell=True)
        tasks.Execute(["echo", str(folder / "script.py"), "nothing.py", "x" * 5000])


def test_a_cached_command_is_warned_of_files_that_are_no_inputs(
    session: Session, folder: Path
) -> None:
    path = str(folder / "script.py")
    with pytest.warns(RainWarning, match="for the cache only the name of .*script.py' counts"):
        tasks.Execute(["python3", path], cache=True)
    with pytest.warns(RainWarning, match="only the name"):
        tasks.Execute(f"cat {path} | wc", shell=True, cache=True)
    with warnings.catch_warnings(action="error"):
        tasks.Execute([path, "1"], cache=True)
        tasks.Execute(["python3", path], cache=True, cache_key="first version")
        tasks.Execute(["ls", str(folder)], cache=True)
