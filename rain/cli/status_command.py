"""The command `rain status`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rain.cli.options import json_option, server_options

if TYPE_CHECKING:
    from rain.start.reaching import ReachedServer


@click.command()
@server_options(http="Where the server serves HTTP, if 'rain start' has not started it here.")
@json_option
def status(server: ReachedServer, as_json: bool) -> int:
    """Show the governors and sessions of a server.

    Without an argument, it asks the cluster that 'rain start' has started here, or the usual port.
    """
    from rain.start.status import ask, with_cluster

    asked = ask(server.address, server.http, server.keys)
    found = with_cluster(asked, server.cluster)
    if as_json:
        click.echo(found.as_json())
        return 0

    from rich.console import Console

    from rain.start.status_tables import print_status

    # Output that does not go to a terminal is not cut to its width.
    print_status(found, Console(width=None if sys.stdout.isatty() else 250))
    return 0
