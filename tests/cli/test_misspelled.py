"""Unknown commands and options are answered with what was meant, or what is written here."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from rain.cli import cli
from rain.cli.misspelled import advice, unknown_option

HIDDEN = [name for name, command in cli.commands.items() if command.hidden]
SHOWN = [name for name, command in cli.commands.items() if not command.hidden]


def told(*words: str) -> str:
    """The message about a command line that cannot be right."""
    with pytest.raises(click.UsageError) as caught:
        cli.main(words, prog_name="rain", standalone_mode=False)
    error = caught.value
    if isinstance(error, click.NoSuchOption):
        error = unknown_option(error)
    return error.format_message()


def every_command(group: click.Group, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words of all commands that are shown."""
    context = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not command.hidden:
            found.append((*path, name))
        if isinstance(command, click.Group):
            found += every_command(command, (*path, name))
    return found


def test_no_hidden_command_is_suggested() -> None:
    assert HIDDEN
    for name in SHOWN:
        for place in range(len(name)):
            said = told(name[:place] + "x" + name[place + 1 :])
            assert name in said
            assert not [hidden for hidden in HIDDEN if f" {hidden}" in said.partition(":")[2]]


def test_no_hidden_option_is_suggested() -> None:
    assert told("governor", "--ready-ft", "1") == (
        "No such option '--ready-ft': did you mean --ready-file?"
    )


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("start --port 7000", "write --listen HOST:PORT"),
        ("start --port=7000", "write --listen HOST:PORT"),
        ("start --num-cpus 4", "write rain start local --cpus N"),
        ("start --nworkers 2", "write rain start local --governors N"),
        ("start --governors 2", "write rain start local --governors"),
        ("start slurm --nworkers 3", "write --governors N"),
        ("start slurm --memory-limit 4G", "write --memory SIZE"),
        ("add local --nthreads 2", "write --cpus N"),
        ("governor --nthreads 2", "write --cpus N"),
        ("governor --memory-limit 4G", "write --memory SIZE"),
        ("server --dashboard-address :8787", "write --http-listen ADDRESS"),
        ("start --head", "'rain start' starts the server here, and 'rain server' it alone"),
        (
            "status --address head:7210",
            "an address stands without an option: rain governor HOST:PORT, rain status HOST:PORT",
        ),
        (
            "stop --port 7210",
            "an address stands without an option: rain governor HOST:PORT, rain status HOST:PORT",
        ),
        (
            "governor --scheduler-file f",
            "an address stands without an option: rain governor HOST:PORT, rain status HOST:PORT",
        ),
        (
            "start --memory-limit 4G",
            "write --memory SIZE",
        ),
        ("start --record events", "only 'rain server' has it"),
        ("start local --time-limit 2h", "only 'rain governor' has it"),
        (
            "start slurm --partition long",
            "batch systems get it after '--': rain start slurm --governors 4 -- --partition=VALUE",
        ),
        ("server --listn x", "did you mean --listen?"),
    ],
)
def test_an_unknown_option_is_answered_with_what_is_written_here(words: str, answer: str) -> None:
    option = next(word for word in words.split() if word.startswith("--")).partition("=")[0]

    assert told(*words.split()) == f"No such option {option!r}: {answer}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("worker", "No such command 'worker': write rain governor HOST:PORT"),
        ("start k8s", "No such command 'k8s': write rain start kubernetes"),
        ("start hosts.txt", "No such command 'hosts.txt': write rain start ssh hosts.txt"),
        ("start my.yaml", "No such command 'my.yaml': the file of a cluster is a .toml"),
        ("add slrum", "No such command 'slrum': did you mean slurm?"),
        ("keys crate", "No such command 'crate': did you mean create?"),
        ("qwertz", "No such command 'qwertz'"),
    ],
)
def test_an_unknown_command_is_answered_with_what_is_written_here(words: str, message: str) -> None:
    assert told(*words.split()) == message


def test_an_option_that_resembles_nothing_is_only_named() -> None:
    assert advice("--qwertz", "rain stop", ["--grace"]) == ""


def test_the_program_says_what_is_written_here() -> None:
    command = [sys.executable, "-m", "rain", "start", "--port", "7000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)

    assert ran.returncode == 2
    assert ran.stderr.endswith("Error: No such option '--port': write --listen HOST:PORT\n")


@pytest.mark.parametrize("path", every_command(cli, ()), ids=" ".join)
def test_the_summary_of_a_command_is_a_whole_sentence(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*path[:-1], "--help"]).output

    commands = shown.partition("\nCommands:\n")[2].splitlines()
    line = next(line for line in commands if line.startswith(f"  {path[-1]} "))
    assert line.endswith(".")
    assert not line.endswith("...")
