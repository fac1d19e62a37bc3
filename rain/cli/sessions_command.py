"""The command `rain sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.base.errors import StartError
from rain.cli.options import json_option, server_options

if TYPE_CHECKING:
    from rain.start.reaching import ReachedServer


@click.command()
@click.option("--remove", metavar="NAME", default="", help="Remove this one with its results.")
@click.option(
    "--share", metavar="NAME", default="", help="Share this one with the users of --with."
)
@click.option(
    "--with",
    "users",
    multiple=True,
    metavar="USER",
    help="A user who may open it; may be repeated. '*' is all users, and nobody may open it any"
    " more if none is named.",
)
@server_options()
@json_option
def sessions(
    server: ReachedServer, remove: str, share: str, users: tuple[str, ...], as_json: bool
) -> int:
    """List, remove or share the durable sessions of a server.

    Without an argument, it asks the cluster that 'rain start' has started here, or the usual port.
    """
    from rain.start.sessions import as_json as spell_json
    from rain.start.sessions import as_text, ask_sessions

    if users and not share:
        raise StartError("--with names those with whom --share NAME shares a session")
    found = ask_sessions(server, remove, share, users)
    click.echo(spell_json(found) if as_json else as_text(found))
    return 0
