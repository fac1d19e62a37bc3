"""Where the words of a program go: to its own task and to no other."""

import os
import subprocess
from pathlib import Path

import pytest

from rain.governor.programs import printed
from rain.governor.programs.printed import ProgramStreams, logs_of, tail


def test_what_a_child_of_an_earlier_program_says_is_not_said_by_a_later_one(
    tmp_path: Path,
) -> None:
    # given: a program that has ended, and its child that has not
    earlier = ProgramStreams.open_in(tmp_path)
    child = subprocess.Popen(
        ["/bin/sh", "-c", "read go; echo late; echo late >&2"],
        stdin=subprocess.PIPE,
        stdout=earlier.stdout,
        stderr=earlier.stderr,
    )
    earlier.close()
    later = ProgramStreams.open_in(tmp_path)
    # when
    child.communicate(b"go\n")
    # then
    assert child.returncode == 0
    assert logs_of(later, hides_stdout=False) == ""
    later.close()


@pytest.mark.parametrize("has_nameless_files", [True, False])
def test_what_is_printed_leaves_no_file_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_nameless_files: bool
) -> None:
    if not has_nameless_files:  # as on some network filesystems
        monkeypatch.setattr(printed, "_NAMELESS", os.O_RDWR)  # a folder refuses that
    said = ProgramStreams.open_in(tmp_path)
    subprocess.run(
        ["/bin/sh", "-c", "echo out; echo err >&2; echo more"],
        stdout=said.stdout,
        stderr=said.stderr,
        check=True,
    )
    assert list(tmp_path.iterdir()) == []
    assert logs_of(said, hides_stdout=False) == "out\nmore\n[stderr]\nerr\n"
    assert logs_of(said, hides_stdout=True) == "[stderr]\nerr\n"
    assert tail(said.stdout, 5) == "(the last 5 of 9 bytes)\nmore"
    said.close()


def test_an_stdout_that_is_wanted_is_a_file_with_a_name(tmp_path: Path) -> None:
    said = ProgramStreams.open_in(tmp_path, str(tmp_path / "+out"))
    subprocess.run(["/bin/echo", "wanted"], stdout=said.stdout, check=True)
    said.close()
    assert (tmp_path / "+out").read_text() == "wanted\n"
