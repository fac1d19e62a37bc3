"""Commands in a removed folder, or without room for their output; options that mean nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.cli import cli


@pytest.mark.parametrize("words", [["start", "--simple"], ["stop", "./logs"]])
def test_a_command_that_needs_its_current_folder_says_that_it_was_removed(
    words: list[str], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = [sys.executable, "-P", "-m", "rain", *words]

    ran = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *command],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "rain: the current folder was removed: go to another one\n"


def test_a_command_whose_output_has_no_room_says_so() -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "rain", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ,
        )

    assert ran.returncode == 1
    assert ran.stderr == "rain: the output cannot be written: No space left on device\n"


def test_a_lease_without_a_journal_is_refused() -> None:
    with pytest.raises(StartError, match=r"--lease says .*: add --journal"):
        cli.main(["server", "--listen", "0", "--lease", "etcd://here/rain"], standalone_mode=False)
