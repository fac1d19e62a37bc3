"""Plans what the scaler of a cluster may start: drafts of jobs, and the scaler itself. No I/O."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from rain.base.errors import StartError
from rain.base.resources import CPUS, GPUS, LARGEST, MEMORY, Resources
from rain.launchers.interface import Job, Launcher
from rain.scaling.picture import GovernorKind
from rain.start.clusters import Cluster
from rain.start.governors import BatchGovernors, LocalGovernors, Scale
from rain.start.jobs import plan_job
from rain.start.plan import (
    GOVERNOR,
    SERVER,
    TEMPLATE,
    Daemon,
    Settings,
    is_encrypted,
    plan_governors,
)
from rain.start.scaling_files import ANY_NUMBER, KindOrder, ScalerOrder

LOCAL = "local"
NAME, STANDBY = "scaler", "standby"
_MANY_CPUS = 1024
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def launcher_name(settings: Settings) -> str:
    """The launcher that starts the governors of a cluster that scales."""
    if isinstance(settings.governors, BatchGovernors):
        return settings.governors.launcher
    if isinstance(settings.governors, LocalGovernors):
        return LOCAL
    raise StartError("the governors of a host file cannot scale: their number is that of the hosts")


def plan_kind(
    settings: Settings, scale: Scale, server: str, folder: Path, launcher: Launcher
) -> KindOrder:
    """What may be started for a server at this address."""
    asked = settings.governors
    if isinstance(asked, LocalGovernors):
        cpus = next(iter(asked.cpus), None)
        asked = BatchGovernors(LOCAL, 0, cpus or max(1, available_cpus() // scale.most))
        if scale.largest > 1:
            raise StartError("--largest is for jobs of a batch system")
        drafts = [_local_draft(settings, asked, scale.most, server, folder)]
    else:
        assert isinstance(asked, BatchGovernors)
        if scale.largest > 1 and asked.cpus is None:
            raise StartError("--largest needs --cpus: it says how many times as many")
        drafts = [
            _draft(settings, _larger(asked, size), server, folder, launcher.cpus_variable)
            for size in range(1, scale.largest + 1)
        ]
    kind = GovernorKind(
        scale.kind or asked.launcher,
        _resources(asked, settings.resources),
        scale.least,
        scale.most,
        len(drafts),
        seconds=float("inf") if asked.seconds is None else asked.seconds,
        idle=scale.idle,
    )
    return KindOrder(kind, asked.launcher, tuple(drafts), settings.prefix)


def check_kind_name(name: str) -> None:
    """Refuses a name that cannot be that of jobs and files, or is that of other daemons."""
    if not _KIND.fullmatch(name) or name in {SERVER, STANDBY, NAME, GOVERNOR, TEMPLATE}:
        raise StartError(
            f"--kind {name!r} is not a name for governors: use letters, digits and _ . -, as gpu"
        )


def with_kind(order: ScalerOrder, one: KindOrder) -> ScalerOrder:
    """The order with another kind; StartError if a kind has its name already."""
    names = [other.kind.name for other in order.kinds]
    if one.kind.name in names:
        raise StartError(
            f"the cluster has a kind {one.kind.name!r} already: name the other one with --kind"
        )
    return ScalerOrder((*order.kinds, one))


def available_cpus() -> int:
    """The cpus of this machine that we may use."""
    return len(os.sched_getaffinity(0))


def plan_scaler(settings: Settings, server: str) -> Daemon:
    """Plans the process of the scaler."""
    tls = str(settings.tls) if is_encrypted(settings) else ""
    secret = "" if settings.secret_file is None or settings.insecure else str(settings.secret_file)
    return _scaler(settings.rain, settings.log_folder, server, secret, tls)


def again_scaler(cluster: Cluster) -> Daemon:
    """Plans the scaler again for a cluster whose scaler has ended."""
    rain, folder = cluster.access.rain, cluster.log_folder
    return _scaler(rain, folder, cluster.addresses, cluster.secret_file, cluster.tls)


def _scaler(rain: tuple[str, ...], folder: Path, server: str, secret: str, tls: str) -> Daemon:
    arguments = [NAME, server, "--logdir", str(folder)]
    if tls:
        arguments += ["--tls", tls]
    elif secret:
        arguments += ["--secret-file", secret]
    return Daemon(NAME, rain, folder, arguments=tuple(arguments))


def _draft(
    settings: Settings, asked: BatchGovernors, server: str, folder: Path, cpus_variable: str
) -> Job:
    one = evolve(settings, governors=evolve(asked, count=1), scale=None, first=ANY_NUMBER)
    (daemon,) = plan_governors(one, server)
    return plan_job(daemon, asked, folder, cpus_variable)


def _larger(asked: BatchGovernors, size: int) -> BatchGovernors:
    """The same job, `size` times as large."""
    return evolve(
        asked,
        cpus=None if asked.cpus is None else asked.cpus * size,
        memory=None if asked.memory is None else asked.memory * size,
        gpus=None if asked.gpus is None else asked.gpus * size,
    )


def _local_draft(
    settings: Settings, asked: BatchGovernors, most: int, server: str, folder: Path
) -> Job:
    """The governors share the memory of the machine, and have no gpus if there may be several."""
    alone = evolve(
        settings,
        governors=LocalGovernors((asked.cpus,)),
        scale=None,
        first=ANY_NUMBER,
        neighbours=settings.neighbours + most - 1,
    )
    (daemon,) = plan_governors(alone, server)
    daemon = evolve(daemon, first="")  # the script of the job has it
    if alone.neighbours:
        daemon = evolve(daemon, arguments=(*daemon.arguments, "--gpus", "0"))
    return plan_job(daemon, asked, folder, "")


def _resources(asked: BatchGovernors, named: Sequence[tuple[str, int]]) -> Resources | None:
    """What each governor will have; None if the batch system alone decides it.

    What is not said is known when the first one joins. Until then it is taken to be enough.
    """
    if asked.cpus is None and asked.gpus is None and not named:
        return None
    cpus = _MANY_CPUS if asked.cpus is None else asked.cpus
    memory = LARGEST if asked.memory is None else asked.memory
    return Resources.of({CPUS: cpus, MEMORY: memory, GPUS: asked.gpus or 0, **dict(named)})
