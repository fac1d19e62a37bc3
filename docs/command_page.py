"""The page of the site with all commands: what each says with --help."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rain.cli import cli

WIDTH = 100
INTRODUCTION = """# Command line

All commands, as `rain COMMAND --help` shows them. `rain-server` and `rain-governor` are other names
of `rain server` and `rain governor`.
"""


def command_page() -> str:
    """The page, in the order of `rain --help`; commands with the same options have them once."""
    parts = [INTRODUCTION]
    shown: dict[str, str] = {}
    for path, context in _commands(cli, "rain", None):
        text = context.get_help()
        before, _, options = text.partition("\nOptions:\n")
        first = shown.setdefault(options, path)
        end = ""
        if first != path and options.count("\n") > 1:  # more than --help
            text, end = before, f"\nThe options are those of `{first}`.\n"
        level = "#" * (path.count(" ") + 1)
        parts.append(f"{level} {path}\n\n```text\n{text.rstrip()}\n```\n{end}")
    return "\n".join(parts)


def _commands(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Context]]:
    """Every command that is shown, with the context in which it prints its help."""
    context = click.Context(
        command,
        parent,
        path.rpartition(" ")[2],
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **command.context_settings,
    )
    if parent is not None:
        yield path, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _commands(inner, f"{path} {name}", context)
