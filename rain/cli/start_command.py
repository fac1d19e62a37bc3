"""The command `rain start`: with options alone as in Rain 0.4, or with the name of a launcher."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from rain.base.errors import StartError
from rain.cli.options import PATH
from rain.cli.start_batch import batch_command, start_local, start_ssh
from rain.cli.start_options import start_and_tell, start_options
from rain.start.governors import SSH

if TYPE_CHECKING:
    from rain.start.options import StartOptions


class _Launchers(click.Group):
    """`rain start NAME` for each launcher, those of other packages among them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from rain.launchers.registry import launcher_names

        del ctx
        return ["local", "ssh", *launcher_names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in {"local", "ssh"}:
            return {"local": start_local, "ssh": start_ssh}[cmd_name]
        if cmd_name in self.list_commands(ctx):
            return batch_command(cmd_name)
        return None


@click.group(cls=_Launchers, invoke_without_command=True, subcommand_metavar="[LAUNCHER ...]")
@click.option("--simple", is_flag=True, help="One governor here, with all cpus.")
@click.option(
    "--local-governors",
    metavar="[N,N,...]",
    help="Governors here, with these numbers of cpus: for instance [4,4,2].",
)
@click.option(
    "--governor-host-file",
    type=PATH,
    metavar="FILE",
    help="A governor on each host of a file: one host per line, # starts a comment.",
)
@click.option(
    "--autoconf",
    type=click.Choice(["pbs"]),
    help="Take the hosts from a batch system: pbs reads the file that $PBS_NODEFILE names.",
)
@click.option(
    "-S", "reserve_cpu", is_flag=True, help="Leave one cpu free on the machine of the server."
)
@start_options
@click.option(
    "--runprefix", default="", metavar="COMMAND", help="Put this before the command of each daemon."
)
@click.option(
    "--remote-init",
    default="",
    metavar="COMMANDS",
    help="Shell commands to run on each host before its governor.",
)
@click.option(
    "--ssh",
    default=SSH,
    show_default=True,
    metavar="COMMAND",
    help="How to reach a host.",
)
@click.pass_context
def start(
    context: click.Context,
    options: StartOptions,
    simple: bool,
    local_governors: str | None,
    governor_host_file: Path | None,
    autoconf: str | None,
    reserve_cpu: bool,
    runprefix: str,
    remote_init: str,
    ssh: str,
) -> int:
    """Start a server and governors, here or on other hosts, and let them run.

    If this command ends with status 0, all of them are ready; otherwise none is left running. End
    them with 'rain stop'.

    With the name of a launcher the governors are jobs of a batch system, which may wait there. What
    is said of them stands after the name: rain start slurm --governors 10 --cpus 16
    """
    from rain.start.asked import asked_governors
    from rain.start.governors import refuse_options_before

    if context.invoked_subcommand is not None:
        given = [
            parameter.opts[0]
            for parameter in context.command.params
            if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        ]
        refuse_options_before(context.invoked_subcommand, given)
        return 0
    governors = asked_governors(
        simple=simple,
        local_governors=local_governors,
        host_file=governor_host_file,
        autoconf=autoconf,
        server_host=options.listen_host,
        environment=os.environ,
    )
    way = _words(ssh, "--ssh")
    if not way:
        raise StartError("--ssh is empty: name a command")
    if "/" in way[0]:
        way = (str(Path(way[0]).absolute()), *way[1:])  # 'rain stop' may run in another folder
    return start_and_tell(
        options,
        governors,
        run_prefix=_words(runprefix, "--runprefix"),
        reserve_cpu=reserve_cpu,
        remote_init=remote_init,
        ssh=way,
    )


def _words(text: str, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise StartError(f"{option} {text!r} is not a command: {error}") from error
