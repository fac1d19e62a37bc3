"""The command `rain add`: adds governors to a running cluster, with the options of `rain start`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.cli.start_group import SUFFIX, Launchers
from rain.cli.start_options import of_governors

if TYPE_CHECKING:
    from rain.start.add import Added
    from rain.start.clusters import ClusterDescription
    from rain.start.options import StartRequest

_CLUSTER = click.Option(
    ["--to", "which"],
    default="",
    metavar="LOGDIR|ADDRESS",
    help="Which cluster, if several of yours run on this machine.",
)


def adding(command: click.Command) -> click.Command:
    """The command that adds what a command of `rain start` starts."""
    governors = of_governors(command)

    def add(which: str, **values: object) -> int:
        from rain.start.choice import find_cluster
        from rain.start.clusters import user_index
        from rain.start.interrupts import InterruptedStartError

        assert governors.callback is not None
        order: StartRequest = governors.callback(**values)
        cluster = find_cluster(user_index(), which)
        try:
            added = order.add_to(cluster)
        except InterruptedStartError as interrupted:
            click.echo(f"rain add: {interrupted}; all that was started has ended", err=True)
            return interrupted.status
        _tell(cluster, added)
        return 0

    return click.Command(
        command.name,
        params=[_CLUSTER, *governors.params],
        callback=add,
        help=(command.help or "").replace("Start a server here, and governors", "Add governors"),
        epilog=governors.epilog,
    )


def _tell(cluster: ClusterDescription, added: Added) -> None:
    if added.changes:
        click.echo(f"{added.kinds[0]} governors have changed: {'; '.join(added.changes)}.")
        if added.replaced:
            click.echo("Those that are there drain, and others come when tasks wait for them.")
        return
    for kind in added.kinds:
        click.echo(f"{cluster.address} gets {kind} governors when tasks wait for them.")
    if not added.members and not added.jobs:
        return
    count = len(added.members) + len(added.jobs)
    what = f"{count} governor{'s' if count > 1 else ''}"
    if added.jobs:
        click.echo(f"{what} submitted to {added.jobs[0].launcher} for {cluster.address}.")
        click.echo(f"  jobs    {' '.join(job.number for job in added.jobs)}")
        click.echo(f"  logs    {added.jobs[0].log_folder}")
        click.echo("  look    rain status")
    else:
        has = "has" if count == 1 else "have"
        click.echo(f"{what} {has} joined the cluster at {cluster.address}.")
    for member in added.members:
        click.echo(f"  {member.name}  {member.address}  {member.host}".rstrip())


class _Adding(Launchers):
    """Adds what `rain start` would start."""

    def made(self, command: click.Command) -> click.Command:
        return adding(command)


add = _Adding(
    "add",
    subcommand_metavar=f"LAUNCHER|FILE{SUFFIX} ...",
    help="""Add governors to a running cluster.

    The cluster is one that 'rain start' has started on this machine.

    Describe them as for 'rain start', after the name of a launcher: rain add slurm --governors 4
    --cpus 16. They may be of another kind than those of the cluster, and may be described in a
    file: rain add cluster.toml. With --kind NAME, the kind of this name is changed to what is given
    now; 'rain remove NAME' removes it. If this command does not end with status 0, none of them is
    left running.
    """,
)
