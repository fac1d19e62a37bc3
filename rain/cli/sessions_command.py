"""The command `rain sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.cli.options import json_option, server_options

if TYPE_CHECKING:
    from rain.start.reaching import Reached


@click.command()
@click.option("--remove", metavar="NAME", default="", help="Remove this one with its results.")
@server_options()
@json_option
def sessions(server: Reached, remove: str, as_json: bool) -> int:
    """List the durable sessions of a server, or remove one.

    Without an argument, of the cluster that 'rain start' has started here, or of the usual port.
    """
    from rain.start.sessions import as_json as spell_json
    from rain.start.sessions import as_text, ask_sessions

    found = ask_sessions(server, remove)
    click.echo(spell_json(found) if as_json else as_text(found))
    return 0
