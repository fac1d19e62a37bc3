"""The command `rain drain`."""

from __future__ import annotations

import click

from rain.base.errors import StartError
from rain.cli.options import seconds


@click.command()
@click.argument("governor", metavar="GOVERNOR")
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
@seconds(
    "--grace",
    60.0,
    "How long the governor may take before it is killed. It drains for its --drain-seconds.",
)
def drain(governor: str, which: str, grace: float) -> int:
    """Take a governor out of a running cluster.

    GOVERNOR is its name (governor-0), its address, or the number of its job. Its tasks finish, and
    its data is copied to the other governors. The second argument says which cluster is meant,
    if there are several.
    """
    from rain.start.choice import find_cluster
    from rain.start.clusters import user_index
    from rain.start.drain import drain_governor, governor_of
    from rain.start.ending import ProcessEnding
    from rain.start.jobs import drain_job

    cluster = find_cluster(user_index(), which)
    job = drain_job(cluster, governor)
    if job is not None:
        click.echo(f"job {job.number} of {job.name} was told to end; if it runs, it drains")
        return 0
    member = governor_of(cluster, governor)
    match drain_governor(cluster, member, grace):
        case ProcessEnding.GONE:
            raise StartError(f"{member.name} at {member.address} had ended before")
        case ProcessEnding.KILLED:
            raise StartError(
                f"{member.name} at {member.address} was killed: it has not ended within"
                f" {grace:g} seconds"
            )
        case ProcessEnding.STOPPED:
            click.echo(f"{member.name} at {member.address} has left the cluster")
    return 0
