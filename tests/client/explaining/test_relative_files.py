"""What is said when a task has not found a file of the user's folder."""

from pathlib import Path

import pytest

from rain.client.explaining.relative_files import advice

MESSAGE = (
    "Traceback (most recent call last):\n"
    '  File "/somewhere.py", line 3, in load\n'
    "FileNotFoundError: [Errno 2] No such file or directory: '{}'\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("1,2")
    return tmp_path


def test_a_file_of_the_folder_is_named_with_its_whole_path(folder: Path) -> None:
    told = advice(MESSAGE.format("data.csv"))
    assert told.startswith("'data.csv' is in your folder")
    assert str(folder / "data.csv") in told
    assert "blob(" in told


@pytest.mark.parametrize(
    ("stderr", "pattern"),
    [
        ("cat: '*.txt': No such file or directory", "*.txt"),
        ("ls: cannot access '~/data': No such file or directory", "~/data"),
        ("head: ./part-?.csv: No such file or directory", "./part-?.csv"),
    ],
)
def test_a_pattern_that_no_shell_has_seen_is_named(stderr: str, pattern: str) -> None:
    told = advice(f"the program 'x' ended with exit code 1\nIts stderr:\n{stderr}")
    assert told.startswith(f"'{pattern}' is a pattern")
    assert "shell=True" in told


@pytest.mark.parametrize(
    "message",
    [
        MESSAGE.format("other.csv"),
        MESSAGE.format("/data.csv"),
        MESSAGE.format("x" * 5000),
        "ValueError: data.csv",
        "ValueError: " + "x" * 3_000_000,
        "x" * 3_000_000 + ": No such file or directory",
        "FileNotFoundError: [Errno 2] " * 100_000,
        "",
    ],
)
def test_other_messages_get_no_advice(message: str) -> None:
    assert not advice(message)
