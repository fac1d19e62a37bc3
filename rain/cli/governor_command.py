"""The command `rain governor`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import click
from attrs import frozen

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.cli.options import (
    PATH,
    DaemonOptions,
    amount,
    daemon_options,
    file,
    listen,
    seconds,
    silence,
    size,
    switch,
    together,
)

if TYPE_CHECKING:
    from rain.governor.core.reactor_settings import Offer
    from rain.governor.machine.budget import Budget
    from rain.governor.settings import GovernorSettings


def _cpus(text: str) -> int:
    """Parses a number, `detect`, or minus the number of cpus to leave free."""
    if text != "detect":
        try:
            wanted = int(text)
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is neither a number nor 'detect'", param_hint="--cpus"
            ) from None
        if wanted >= 0 and not text.startswith("-"):
            return wanted
    else:
        wanted = 0
    detected = len(os.sched_getaffinity(0))
    if detected + wanted < 1:
        raise StartError(f"--cpus {text} leaves none of the {detected} cpus of this machine")
    return detected + wanted


def _size(name: str, text: str | None) -> int | None:
    """Parses a number of bytes, if there is one."""
    return None if text is None else size(name, text)


@frozen
class OfferedPart:
    """What the governor offers of its machine."""

    cpus: str
    memory: str
    store: str
    disk: str
    gpus: str
    named: tuple[str, ...]
    share: str

    def read(self, workdir: Path | None) -> tuple[Budget, Offer]:
        """The bytes for tasks and data, and the resources."""
        from rain.governor.machine.budget import Room, read_budget
        from rain.governor.machine.detecting import Machine
        from rain.governor.machine.offer import MachineShare, read_offer

        machine, part = Machine.this(), MachineShare.read(self.share)
        room = Room.of(machine, part.of, (workdir or Path(gettempdir())).absolute())
        budget = read_budget(self.memory, self.store, room, self.disk)
        cpus = _cpus(self.cpus)
        return budget, read_offer(cpus, budget.memory, self.gpus, self.named, machine, part)


@frozen
class TaskLimits:
    """How much one task may have, and how many may wait for others."""

    most_blocked: int | None
    task_processes: int
    task_descriptors: int | None


@frozen
class KeptSoftware:
    """How much is kept of results and of software environments, and what makes these."""

    cache_limit: str | None
    environment_limit: str | None
    conda: str | None


@frozen
class Patience:
    """How long the governor waits for its server."""

    server_timeout: float | None
    wait_for_server: float
    server_away: float


@click.command()
@click.argument("server", metavar="SERVER")
@listen("127.0.0.1:0", "The address where other governors fetch data from this one.")
@together(
    "part",
    OfferedPart,
    amount(
        "--cpus",
        "detect",
        "N",
        "How many cpus to offer: a number, 'detect', or -K for all but K.",
    ),
    amount(
        "--memory",
        "detect",
        "SIZE",
        "How much memory tasks may use: 4G, 512MiB, or 'detect' for this machine's without"
        " --store.",
    ),
    amount(
        "--store",
        "detect",
        "SIZE",
        "How much data to keep in shared memory: a size, or 'detect' for 30 % of memory.",
    ),
    amount(
        "--disk",
        "detect",
        "SIZE",
        "How much data to keep in files: a size, or 'detect' for 90 % of the free space.",
    ),
    amount("--gpus", "detect", "N", "How many gpus to offer: a number, or 'detect'."),
    click.option(
        "--resource",
        "named",
        multiple=True,
        metavar="NAME=AMOUNT",
        help="Another resource to offer, for example licence=2; may be repeated.",
    ),
    click.option(
        "--share", default="0/1", hidden=True, help="I/N: the part of detected resources."
    ),
)
@seconds("--monitoring", 5.0, "Interval between reports of this machine's load; 0 for never.")
@seconds(
    "--idle-seconds",
    60.0,
    "How long an executor may be idle before it is ended, if there are more executors than cpus.",
)
@seconds(
    "--cancel-grace",
    5.0,
    "How long a cancelled task may run on after it is interrupted, before it is killed.",
)
@seconds(
    "--drain-seconds",
    25.0,
    "How long it may take after SIGTERM to finish its tasks and move its data elsewhere.",
)
@click.option(
    "--time-limit",
    metavar="DURATION",
    help="The time limit of the governor: 1:00:00, 90m or 2h from now. It drains early enough"
    " to leave in time. 'none' for no limit.  [default: the end of the Slurm job that it runs in]",
)
@together(
    "limits",
    TaskLimits,
    click.option(
        "--most-blocked",
        type=click.IntRange(min=0),
        metavar="COUNT",
        help="How many calls may wait at once for tasks that they have submitted; by default 16 for"
        " each cpu, and at least 64.",
    ),
    click.option(
        "--task-processes",
        type=click.IntRange(min=1),
        default=1000,
        show_default=True,
        metavar="COUNT",
        help="How many processes a task may have at once; a task with more is ended.",
    ),
    click.option(
        "--task-descriptors",
        type=click.IntRange(min=64),
        metavar="COUNT",
        help="How many files, sockets and pipes each process of a task may have open; by default"
        " 65536, or what the system allows if that is less.",
    ),
)
@together(
    "kept",
    KeptSoftware,
    click.option(
        "--cache-limit",
        envvar="RAIN_CACHE_LIMIT",
        metavar="SIZE",
        help="The size limit of a cache of results, for example 50GiB; by default a tenth of its"
        " disk.",
    ),
    click.option(
        "--environment-limit",
        envvar="RAIN_ENVIRONMENT_LIMIT",
        metavar="SIZE",
        help="The size limit of the software environments that are kept; by default 10GiB.",
    ),
    click.option(
        "--conda",
        envvar="RAIN_CONDA",
        metavar="PROGRAM",
        help="The program that makes conda environments; by default the first of micromamba, mamba"
        " and conda in PATH.",
    ),
)
@together(
    "patience",
    Patience,
    silence(
        "--server-timeout",
        30.0,
        "Give up on the server and stop all work if it is silent for longer; 0 for never.",
    ),
    seconds(
        "--wait-for-server",
        0.0,
        "How long to wait at the start for a server that is not there yet.",
    ),
    seconds(
        "--server-away",
        600.0,
        "How long to go on while a server with a journal is away.",
    ),
)
@file("--config", "A TOML file with executors of your own.")
@click.option(
    "--spill-to",
    metavar="URL",
    help="Where to put data that does not fit on the disk: s3://bucket/prefix, or a folder.",
)
@click.option("--workdir", type=PATH, help="A new folder for data and sandboxes.")
@switch("share-store", "Let governors and clients of this machine use stored files directly.")
@click.option(
    "--zero",
    is_flag=True,
    help="Run nothing and report every task as finished at once: measures the server alone.",
)
@daemon_options
@click.pass_obj
def governor(
    run: Callable[[GovernorSettings], int] | None,
    daemon: DaemonOptions,
    server: str,
    listen_at: str,
    part: OfferedPart,
    monitoring: float,
    idle_seconds: float,
    cancel_grace: float,
    drain_seconds: float,
    time_limit: str | None,
    limits: TaskLimits,
    kept: KeptSoftware,
    patience: Patience,
    config: Path | None,
    spill_to: str | None,
    workdir: Path | None,
    share_store: bool,
    zero: bool,
) -> int:
    """Run a governor, the worker daemon of a machine.

    It works for the server at SERVER: HOST, PORT or HOST:PORT. If the server has standbys, name
    them too: HOST:PORT,HOST:PORT.
    """
    from rain.daemon import lean

    lean.begin()
    from rain.base.address import DEFAULT_PORT, LOOPBACK
    from rain.daemon.addresses import parse_address, parse_addresses
    from rain.daemon.exposure import check_exposure, or_user_key
    from rain.governor.machine.descriptors import Descriptors
    from rain.governor.main import run_governor
    from rain.governor.settings import GovernorSettings
    from rain.governor.time_limit import leaving_time

    servers = parse_addresses(server, LOOPBACK, DEFAULT_PORT)
    host, port = parse_address(listen_at, LOOPBACK, 0)
    secret, identity = daemon.secret(), daemon.identity(MemberKind.GOVERNOR)
    is_open = daemon.insecure or identity is not None
    check_exposure(host, secret, insecure=is_open, risk="read the data of all tasks")
    secret = or_user_key(secret, host, *(one for one, _ in servers), insecure=is_open)
    budget, offer = part.read(workdir)
    settings = GovernorSettings(
        servers=servers,
        host=host,
        port=port,
        secret=secret,
        identity=identity,
        resources=offer.resources,
        gpus=offer.gpus,
        budget=budget,
        server_silence=patience.server_timeout,
        server_wait=patience.wait_for_server,
        server_away=patience.server_away,
        monitoring_seconds=monitoring,
        idle_seconds=idle_seconds,
        cancel_grace=cancel_grace,
        drain_seconds=drain_seconds,
        leaves_at=leaving_time(time_limit, os.environ, time.time()),
        most_blocked=limits.most_blocked,
        task_processes=limits.task_processes,
        descriptors=Descriptors.read(limits.task_descriptors),
        cache_limit=_size("--cache-limit", kept.cache_limit),
        environment_limit=_size("--environment-limit", kept.environment_limit),
        conda=kept.conda,
        config=config,
        spill_to=spill_to,
        work_folder=workdir,
        share_store=share_store,
        zero=zero,
        log_folder=daemon.log_folder,
        log_level=daemon.log_level,
        readiness=daemon.readiness,
        parent_fd=daemon.parent_fd,
    )
    return (run or run_governor)(settings)
