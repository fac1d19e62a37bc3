"""The command `rain logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.cli.options import server_options

if TYPE_CHECKING:
    from rain.start.reaching import ReachedServer


@click.command()
@click.argument("task", metavar="TASK")
@click.option("-f", "--follow", is_flag=True, help="Go on until the task has ended.")
@server_options(
    http="Where the server serves HTTP, for sessions that are over, if 'rain start' has not started"
    " it here."
)
def logs(task: str, server: ReachedServer, follow: bool) -> int:
    """Print what a task has printed, or has printed so far.

    TASK is its id, for example 3/12. The second argument says which server is meant; without it, it
    is the cluster that 'rain start' has started here, or the usual port. If the session of the task
    is over, the output comes from the event log.
    """
    from rain.start.task_logs import parse_task, show_logs

    def write(text: str, errors: bool) -> None:
        click.echo(text, nl=False, err=errors)

    show_logs(server, parse_task(task), write, follow=follow)
    return 0
