"""`rain start local`, `rain start ssh` and `rain start slurm` or another batch system."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from rain.base.durations import parse_duration
from rain.base.errors import StartError
from rain.cli.options import size
from rain.cli.start_options import start_and_tell, start_options

if TYPE_CHECKING:
    from rain.start.options import StartOptions

_SPOKEN = {
    "slurm": ("Slurm", "sbatch"),
    "sge": ("Grid Engine", "qsub"),
    "pbs": ("PBS", "qsub"),
    "lsf": ("LSF", "bsub"),
}
"""What people call these batch systems, and the program whose options a user may add."""


@click.command("local")
@click.option(
    "--governors", type=click.IntRange(min=1), default=1, show_default=True, help="How many."
)
@click.option(
    "--cpus", type=click.IntRange(min=1), help="Of each governor.  [default: they share all]"
)
@start_options
def start_local(options: StartOptions, governors: int, cpus: int | None) -> int:
    """Start governors on this machine."""
    from rain.start.governors import LocalGovernors

    if cpus is None and governors > 1:
        cpus = max(1, len(os.sched_getaffinity(0)) // governors)
    return start_and_tell(options, LocalGovernors((cpus,) * governors))


@click.command("ssh")
@click.argument("hosts", nargs=-1, required=True, metavar="FILE|HOST...")
@click.option(
    "--before",
    default="",
    metavar="COMMANDS",
    help="Shell commands to run on each host before its governor.",
)
@start_options
def start_ssh(options: StartOptions, hosts: tuple[str, ...], before: str) -> int:
    """Start a governor on each host, which is reached through ssh.

    FILE has one host per line; # starts a comment.
    """
    from rain.start.asked import hosts_of

    return start_and_tell(options, hosts_of(hosts, options.listen_host), remote_init=before)


def batch_command(name: str) -> click.Command:
    """The command of a launcher."""
    title, program = _SPOKEN.get(name, (name, "the batch system"))

    @click.command(name, context_settings={"ignore_unknown_options": False})
    @click.option(
        "--governors",
        type=click.IntRange(min=1),
        required=True,
        help="How many jobs; each runs one governor.",
    )
    @click.option("--cpus", type=click.IntRange(min=1), help="The cpus of each job.")
    @click.option("--memory", metavar="SIZE", help="The memory of each job, as 64G.")
    @click.option("--gpus", type=click.IntRange(min=1), help="The gpus of each job.")
    @click.option("--time", metavar="TIME", help="How long each may run: 1:00:00, 90m or 2h.")
    @click.option(
        "--before",
        default="",
        metavar="COMMANDS",
        help="Shell commands to run first in each job, as 'module load python'.",
    )
    @click.option(
        "--wait",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="COUNT",
        help="Wait until that many governors are ready; the others may wait in the queue.",
    )
    @start_options
    @click.argument("further", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS]")
    def command(
        options: StartOptions,
        governors: int,
        cpus: int | None,
        memory: str | None,
        gpus: int | None,
        time: str | None,
        before: str,
        wait: int,
        further: tuple[str, ...],
    ) -> int:
        from rain.start.governors import BatchGovernors

        asked = BatchGovernors(
            name,
            governors,
            cpus,
            None if memory is None else size("--memory", memory),
            gpus,
            None if time is None else _seconds(time),
            further,
            before,
            wait,
        )
        return start_and_tell(options, asked)

    command.help = (
        f"Start a server here, and governors as jobs of {title}.\n\nThe jobs may wait in the queue:"
        f" 'rain status' shows them. OPTIONS are further options of {program}."
    )
    return command


def _seconds(time: str) -> int:
    try:
        return parse_duration(time)
    except ValueError as error:
        raise StartError(f"--time: {error}") from None
