"""A mistyped command is answered with those that people use."""

from __future__ import annotations

from click.testing import CliRunner

from rain.cli import cli

HIDDEN = [name for name, command in cli.commands.items() if command.hidden]
SHOWN = [name for name, command in cli.commands.items() if not command.hidden]


def told(word: str) -> str:
    result = CliRunner().invoke(cli, [word])
    assert result.exit_code == 2
    return result.output


def test_no_hidden_command_is_suggested() -> None:
    assert HIDDEN
    for name in SHOWN:
        for place in range(len(name)):
            said = told(name[:place] + "x" + name[place + 1 :])
            assert not [hidden for hidden in HIDDEN if f"'{hidden}'" in said]
