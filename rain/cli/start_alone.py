"""The command `rain start` without the name of a launcher, as in Rain 0.4, and a list of the
others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rain.cli.handed_on import hands_on
from rain.cli.options import PATH
from rain.cli.start_batch import (
    batch_command,
    reserve_cpu_option,
    ssh_option,
    start_local,
    start_ssh,
)
from rain.cli.start_options import start_options

if TYPE_CHECKING:
    from rain.start.options import StartOptions, StartRequest


@hands_on
@click.command("start")
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
@reserve_cpu_option
@start_options
@click.option(
    "--remote-init",
    default="",
    metavar="COMMANDS",
    help="Shell commands to run on each host before its governor.",
)
@ssh_option
def start_alone(
    options: StartOptions,
    simple: bool,
    local_governors: str | None,
    governor_host_file: Path | None,
    autoconf: str | None,
    reserve_cpu: bool,
    remote_init: str,
    ssh: tuple[str, ...],
) -> StartRequest:
    """`rain start` without the name of a launcher."""
    from rain.start.asked import asked_governors
    from rain.start.options import StartRequest

    governors = asked_governors(
        simple=simple,
        local_governors=local_governors,
        host_file=governor_host_file,
        autoconf=autoconf,
        server_host=options.listen_host,
        environment=os.environ,
    )
    return StartRequest(options, governors, reserve_cpu, remote_init, ssh)


def start_names() -> list[str]:
    """The names that may follow `rain start`."""
    from rain.launchers.registry import launcher_names

    return ["local", "ssh", *launcher_names()]


def start_command(name: str) -> click.Command | None:
    """The command of that name; "" is for the one without a name."""
    ours = {"": start_alone, "local": start_local, "ssh": start_ssh}
    if name in ours:
        return ours[name]
    return batch_command(name) if name in start_names() else None
