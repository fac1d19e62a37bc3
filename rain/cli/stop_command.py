"""The command `rain stop`."""

from __future__ import annotations

import shlex

import click

from rain.base.errors import StartError
from rain.cli.options import seconds


@click.command()
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
@seconds("--grace", 10.0, "Seconds that daemons have to end before they are killed.")
def stop(which: str, grace: float) -> int:
    """End a cluster that 'rain start' has started.

    Without an argument, end the only one that runs.
    """
    from rain.start.choice import find_cluster
    from rain.start.clusters import user_index
    from rain.start.ending import ProcessEnding
    from rain.start.stop import stop_cluster

    index = user_index()
    cluster = find_cluster(index, which)
    stopped = stop_cluster(cluster, index, grace)
    gone, killed = stopped.gone(), stopped.named(ProcessEnding.KILLED)
    if gone and len(gone) < len(cluster.here()):
        click.echo(f"had ended before: {', '.join(gone)}")
    if killed:
        click.echo(f"killed, because not ended within {grace:g} seconds: {', '.join(killed)}")
    if stopped.unreached:
        again = f"try again with: rain stop {shlex.quote(str(cluster.log_folder))}"
        raise StartError("\n".join([*stopped.unreached, again]))
    if len(stopped.named(ProcessEnding.GONE)) == len(cluster.daemons):
        raise StartError(f"the cluster of {cluster.log_folder} does not run any more")
    click.echo(f"The cluster at {cluster.address} has ended; its logs are in {cluster.log_folder}")
    return 0
