"""The command `rain restart`."""

from __future__ import annotations

import os

import click

from rain.cli.options import seconds


@click.command()
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
@seconds("--grace", 10.0, "Seconds that a server that runs has to end before it is killed.")
@seconds("--timeout", 60.0, "Seconds that the start may take.")
def restart(which: str, grace: float, timeout: float) -> int:
    """Start the server of a cluster again: it has died, or Rain has been upgraded.

    Governors go on with their tasks meanwhile, and programs wait. The server goes on with all
    sessions, from its journal. With a standby on this machine both are started again, one after
    the other, and nobody waits for long. Without an argument, that of the only cluster that runs.
    """
    from rain.start.choice import find_cluster
    from rain.start.clusters import user_index
    from rain.start.restart import restart_server

    index = user_index()
    cluster = find_cluster(index, which)
    os.chdir(cluster.access.folder)  # where it was started
    started = restart_server(cluster, timeout, index, grace)
    standby = started.cluster.standby
    if standby is None:
        click.echo(f"The server at {started.cluster.address} runs again.")
    elif standby.host:
        click.echo(f"The server at {started.cluster.address} runs again.")
        click.echo(f"  standby on {standby.host} is left as it is")
    else:
        click.echo(f"The servers at {started.cluster.address} and {standby.address} run again.")
    if started.note:
        click.echo(f"  journal {started.note}")
    return 0
