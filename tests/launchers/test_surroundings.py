"""What is around a governor: its shell commands are run here, with a player as the governor."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from rain.launchers.surroundings import (
    NOTHING,
    Surroundings,
    read_scratch,
    read_variable,
    wrapped,
)

TELLS = ("sh", "-c", 'echo "$$ $A $*" >>said', "governor")


def run(folder: Path, command: tuple[str, ...], *more: str) -> tuple[int, int, list[str]]:
    """The exit status, the pid, and what has been said."""
    process = subprocess.Popen([*command, *more], cwd=folder)
    status = process.wait()
    said = folder / "said"
    return status, process.pid, said.read_text().splitlines() if said.exists() else []


def around(folder: Path, what: Surroundings, *command: str) -> tuple[str, ...]:
    """The command of a governor on this machine."""
    return wrapped(
        command or TELLS,
        what,
        "governor-0",
        first=what.first,
        folder=folder,
        log_folder=folder / "logs",
    )


def test_nothing_around_a_governor_is_its_command(tmp_path: Path) -> None:
    assert around(tmp_path, NOTHING) == TELLS


def test_the_first_commands_see_the_environment_and_the_governor_takes_the_place_of_the_shell(
    tmp_path: Path,
) -> None:
    what = Surroundings(before='echo "first $A" >>said', environment=(("A", "it's $HOME"),))

    status, pid, said = run(tmp_path, around(tmp_path, what), "--ready-fd", "3")

    assert (status, said) == (0, ["first it's $HOME", f"{pid} it's $HOME --ready-fd 3"])


def test_the_last_commands_come_when_the_governor_has_ended_and_keep_its_status(
    tmp_path: Path,
) -> None:
    what = Surroundings(after="echo last >>said; false")

    status, _, said = run(tmp_path, around(tmp_path, what, "sh", "-c", "echo works >>said; exit 3"))

    assert (status, said) == (3, ["works", "last"])


def test_a_signal_for_the_group_reaches_the_governor_once_and_the_last_commands_come(
    tmp_path: Path,
) -> None:
    program = "trap 'echo told >>said; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    command = around(tmp_path, Surroundings(after="echo last >>said"), "sh", "-c", program)
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()

    assert process.returncode == 5
    assert (tmp_path / "said").read_text() == "told\nlast\n"


def test_data_is_in_a_folder_that_is_named_on_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", f"{tmp_path}/a place")

    _, _, said = run(tmp_path, around(tmp_path, Surroundings(scratch="$PLACE/deep")))

    assert said[0].endswith(f"--workdir {tmp_path}/a place/deep/governor-0")
    assert (tmp_path / "a place" / "deep").is_dir()


def test_a_governor_without_its_folder_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    status, _, said = run(tmp_path, around(tmp_path, Surroundings(scratch=f"{tmp_path}/file/x")))

    assert (status, said) == (1, [])


def test_a_container_sees_all_paths_and_gets_the_options_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A player, since no Apptainer can be installed where these tests run.
    player = tmp_path / "apptainer"
    player.write_text('#!/bin/sh\nfor word; do echo "$word"; done >said\n')
    player.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    what = Surroundings(
        container="my image.sif", container_options=("--nv",), scratch=f"{tmp_path}/s"
    )
    command = around(
        tmp_path, what, "python3", "-m", "rain", "governor", "--secret-file", "/the/secret"
    )

    _, _, said = run(tmp_path, command, "--ready-fd", "3")

    assert shlex.join(said) == shlex.join(
        [
            *("exec", "--pwd", str(tmp_path), "--bind", str(tmp_path)),
            *("--bind", f"{tmp_path}/logs", "--bind", "/the/secret", "--bind", f"{tmp_path}/s"),
            *("--nv", "my image.sif", "python3", "-m", "rain", "governor"),
            *("--secret-file", "/the/secret", "--workdir", f"{tmp_path}/s/governor-0"),
            *("--ready-fd", "3"),
        ]
    )


@pytest.mark.parametrize("text", ["A", "=1", "1A=2", "A-B=1", "A B=1"])
def test_what_is_no_variable_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not NAME=VALUE"):
        read_variable(text)


def test_a_variable_may_have_any_value_and_a_folder_may_be_below_the_home_folder() -> None:
    assert read_variable("A=b=c d") == ("A", "b=c d")
    assert read_scratch("~/data") == "$HOME/data"
    with pytest.raises(ValueError, match="is not a folder"):
        read_scratch('a"b')
