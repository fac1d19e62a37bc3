"""The command `rain restart`."""

from __future__ import annotations

import os

import click

from rain.cli.options import seconds


@click.command()
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
@seconds("--grace", 10.0, "Seconds that a running server has to end before it is killed.")
@seconds("--timeout", 60.0, "Seconds that the start may take.")
def restart(which: str, grace: float, timeout: float) -> int:
    """Restart the server of a cluster after a crash or an upgrade.

    Meanwhile governors go on with their tasks, and programs wait. The new server goes on with all
    sessions, from its journal. A standby on this machine is restarted, too: one server after the
    other, so that nobody waits for long. Without an argument, it restarts the server of the only
    cluster that runs.
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
