"""The command groups `rain start` and `rain add`: the name of a launcher, or a file, follows."""

from __future__ import annotations

from pathlib import Path

import click

from rain.cli.misspelled import NamesCommands
from rain.cli.start_alone import start_command, start_names

SUFFIX = ".toml"
"""How the names of cluster files end."""


class Launchers(NamesCommands):
    """A command for each launcher, those of other packages among them, and for a file."""

    def made(self, command: click.Command) -> click.Command:
        """The command that this group has for one of `rain start`."""
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return start_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        command = start_command(cmd_name) if cmd_name else None
        return None if command is None else self.made(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.endswith(SUFFIX):
            return super().resolve_command(ctx, args)
        from rain.cli.cluster_file import read_cluster_file

        file = read_cluster_file(Path(name))
        ctx.default_map = {name: file.values}
        return name, self.made(file.command), args[1:]
