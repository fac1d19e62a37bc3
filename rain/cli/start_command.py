"""The command `rain start`: with a file, with the name of a launcher, or as in Rain 0.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from rain.cli.start_alone import start_alone
from rain.cli.start_group import SUFFIX, Launchers
from rain.cli.start_options import start_and_tell
from rain.start.governors import refuse_options_before

if TYPE_CHECKING:
    from rain.start.options import StartRequest


@click.pass_context
def _start(context: click.Context, /, **values: object) -> StartRequest | None:
    """Start a server and governors, here or on other hosts.

    If this command ends with status 0, all of them are ready, except jobs that wait in the queue
    of a batch system; otherwise none is left running. End them with 'rain stop'.

    What is to be started follows as the name of a launcher with its options, or as a file:

    \b
      rain start local --governors 2 --cpus 4
      rain start ssh node1 node2
      rain start slurm --governors 10 --cpus 16
      rain start cluster.toml

    Without a launcher, the options below say where governors start: rain start --simple
    """
    if context.invoked_subcommand is None:
        order: StartRequest = context.invoke(start_alone, **values)
        return order
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    refuse_options_before(context.invoked_subcommand, given)
    return None


start = Launchers(
    "start",
    params=start_alone.params,
    callback=_start,
    help=_start.__doc__,
    epilog=start_alone.epilog,
    invoke_without_command=True,
    subcommand_metavar=f"[LAUNCHER|FILE{SUFFIX}] ...",
)


@start.result_callback()
def _run(order: StartRequest, **_: object) -> int:
    return start_and_tell(order)
