"""`rain start local`, `rain start ssh` and `rain start slurm` or another batch system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from rain.base.durations import parse_duration
from rain.base.sizes import parse_size
from rain.cli.handed_on import hands_on
from rain.cli.options import parsed, words
from rain.cli.scale_options import scale_options
from rain.cli.start_options import start_options
from rain.start.governors import SSH, as_user, through

if TYPE_CHECKING:
    from rain.start.governors import Scale
    from rain.start.options import StartOptions, StartRequest


class _Spoken(NamedTuple):
    """The names of a launcher and of its arguments in help texts."""

    title: str
    further: str
    meaning: str
    part: str = ""  # if the launcher starts one governor on each by default


def _batch(title: str, program: str) -> _Spoken:
    return _Spoken(
        f"as jobs of {title}",
        "[-- OPTIONS]",
        "The jobs may wait in the queue: 'rain status' shows them. OPTIONS are further options of"
        f" {program}.",
    )


_SPOKEN = {
    "slurm": _batch("Slurm", "sbatch"),
    "sge": _batch("Grid Engine", "qsub"),
    "pbs": _batch("PBS", "qsub"),
    "lsf": _batch("LSF", "bsub"),
    "dask": _Spoken(
        "inside a Dask cluster",
        "ADDRESS",
        "ADDRESS is the address of its scheduler. A governor runs as long as its worker.",
        "worker",
    ),
    "ray": _Spoken(
        "inside a Ray cluster",
        "[ADDRESS]",
        "ADDRESS is the address of its head node, by default of the cluster on this machine. Each"
        " governor runs in an actor, which reserves its cpus.",
        "node",
    ),
    "kubernetes": _Spoken(
        "as pods of Kubernetes",
        "IMAGE [-- OPTIONS]",
        "IMAGE is a container image with Rain in it. OPTIONS are --namespace NAME, --context NAME,"
        " and --template FILE, a manifest with further settings of each pod.",
    ),
}

reserve_cpu_option = click.option(
    "-S", "--reserve-cpu", is_flag=True, help="Leave one cpu free on the machine of the server."
)


def _way(text: str) -> tuple[str, ...]:
    way = words(text)
    if not way:
        raise ValueError("'' is empty: name a command")
    if "/" in way[0]:
        return (str(Path(way[0]).absolute()), *way[1:])  # 'rain stop' may run in another folder
    return way


ssh_option = click.option(
    "--ssh",
    callback=parsed(_way),
    default=SSH,
    show_default=True,
    metavar="COMMAND",
    help="The command that reaches a host.",
)


@hands_on
@click.command("local")
@click.option(
    "--governors", type=click.IntRange(min=1), metavar="N", help="How many governors.  [default: 1]"
)
@scale_options
@click.option(
    "--cpus",
    type=click.IntRange(min=1),
    metavar="N",
    help="The cpus of each governor.  [default: they share all]",
)
@reserve_cpu_option
@start_options
def start_local(
    options: StartOptions,
    governors: int,
    scale: Scale | None,
    cpus: int | None,
    reserve_cpu: bool,
) -> StartRequest:
    """Start a server here, and governors on this machine."""
    from rain.start.governors import LocalGovernors
    from rain.start.options import StartRequest

    if cpus is not None and reserve_cpu:
        raise click.UsageError("-S and --cpus cannot be combined: the number says it already")
    if scale is not None:
        return StartRequest(options, LocalGovernors((cpus,)), scale=scale)
    governors = governors or 1
    if cpus is None and governors > 1:
        cpus = max(1, (len(os.sched_getaffinity(0)) - reserve_cpu) // governors)
        reserve_cpu = False
    return StartRequest(options, LocalGovernors((cpus,) * governors), reserve_cpu=reserve_cpu)


@hands_on
@click.command("ssh")
@click.argument("hosts", nargs=-1, required=True, metavar="FILE|HOST...")
@click.option("--user", default="", metavar="NAME", help="The user on hosts that name none.")
@click.option(
    "--jump",
    default="",
    metavar="HOST",
    help="Reach the hosts through this one, or through several: HOST,HOST.",
)
@ssh_option
@scale_options
@reserve_cpu_option
@start_options
def start_ssh(
    options: StartOptions,
    scale: Scale | None,
    hosts: tuple[str, ...],
    user: str,
    jump: str,
    ssh: tuple[str, ...],
    reserve_cpu: bool,
) -> StartRequest:
    """Start a server here, and governors on other hosts through ssh.

    Each host gets one governor. FILE has one host per line; # starts a comment.
    """
    from rain.start.asked import hosts_of
    from rain.start.options import StartRequest

    governors = as_user(hosts_of(hosts, options.listen_host), user)
    return StartRequest(options, governors, reserve_cpu, ssh=through(ssh, jump), scale=scale)


def batch_command(name: str) -> click.Command:
    """The command of a launcher."""
    spoken = _SPOKEN.get(name, _batch(name, "the batch system"))
    one = f"How many governors.  [default: one on each {spoken.part}]"

    @hands_on
    @click.command(name, context_settings={"ignore_unknown_options": False})
    @click.option(
        "--governors",
        type=click.IntRange(min=1),
        metavar="N",
        help=one if spoken.part else "How many governors; each is a job of its own.",
    )
    @scale_options
    @click.option(
        "--cpus", type=click.IntRange(min=1), metavar="N", help="The cpus of each governor."
    )
    @click.option(
        "--memory",
        callback=parsed(parse_size),
        metavar="SIZE",
        help="The memory of each governor, for example 64G.",
    )
    @click.option(
        "--gpus", type=click.IntRange(min=1), metavar="N", help="The gpus of each governor."
    )
    @click.option(
        "--time",
        callback=parsed(parse_duration),
        metavar="TIME",
        help="How long each governor may run: 1:00:00, 90m or 2h.",
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
    @click.argument("further", nargs=-1, type=click.UNPROCESSED, metavar=spoken.further)
    def command(
        options: StartOptions,
        governors: int,
        scale: Scale | None,
        cpus: int | None,
        memory: int | None,
        gpus: int | None,
        time: int | None,
        wait: int,
        further: tuple[str, ...],
    ) -> StartRequest:
        from rain.start.asked import how_many
        from rain.start.governors import BatchGovernors
        from rain.start.options import StartRequest

        if scale is None and not governors and not spoken.part:
            raise click.UsageError("give --governors N, or --max N if the number follows the work")
        if scale is None:
            governors = how_many(name, governors, further)
        jobs = BatchGovernors(name, governors, cpus, memory, gpus, time, further, wait)
        return StartRequest(options, jobs, scale=scale)

    command.help = f"Start a server here, and governors {spoken.title}.\n\n{spoken.meaning}"
    return command
