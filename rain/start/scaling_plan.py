"""Prepares the scaler of a cluster: the drafts of jobs that it may start, and its own command
line.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from math import inf
from pathlib import Path

from attrs import evolve

from rain.base.errors import StartError
from rain.base.resources import CPUS, GPUS, LARGEST, MEMORY, Resources
from rain.launchers.interface import Job, Launcher
from rain.scaling.picture import GovernorKind
from rain.start.clusters import ClusterDescription
from rain.start.ending import GRACE
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors, Scale
from rain.start.jobs import plan_job, ready_file
from rain.start.plan import (
    GOVERNOR,
    SERVER,
    TEMPLATE,
    PlannedDaemon,
    Settings,
    is_encrypted,
    plan_governors,
)
from rain.start.processes import boot
from rain.start.remote import READY_FD, RemoteAccess, start_script
from rain.start.scaling_files import ANY_NUMBER, ANY_PLACE, KindOrder, ScalerOrder
from rain.start.session import CERTIFICATE, SECRET

LOCAL, SSH = "local", "ssh"
HERE = frozenset({LOCAL, SSH})
"""Launchers whose jobs are processes of this machine."""

NAME, STANDBY = "scaler", "standby"
_MANY_CPUS = 1024
_END = "RAIN_SESSION_END"
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def launcher_name(settings: Settings) -> str:
    """The launcher that starts the governors of a cluster that scales."""
    if isinstance(settings.governors, BatchGovernors):
        return settings.governors.launcher
    return LOCAL if isinstance(settings.governors, LocalGovernors) else SSH


def plan_kind(
    settings: Settings, scale: Scale, server: str, access: RemoteAccess, launcher: Launcher
) -> KindOrder:
    """The governors that may be started for a server at this address."""
    asked, folder = settings.governors, access.folder
    if isinstance(asked, RemoteGovernors):
        return _plan_hosts(settings, asked, scale, server, access)
    if isinstance(asked, LocalGovernors):
        cpus = next(iter(asked.cpus), None)
        asked = BatchGovernors(LOCAL, 0, cpus or max(1, available_cpus() // scale.most))
        if scale.largest > 1:
            raise StartError("--largest is for jobs of a batch system")
        drafts = [_local_draft(settings, asked, scale.most, server, folder)]
    else:
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
        seconds=inf if asked.seconds is None else asked.seconds,
        idle=scale.idle,
    )
    return KindOrder(kind, asked.launcher, tuple(drafts), settings.prefix)


def _plan_hosts(
    settings: Settings, asked: RemoteGovernors, scale: Scale, server: str, access: RemoteAccess
) -> KindOrder:
    """The order for hosts that are reached through ssh: the job of each is its session."""
    hosts = tuple(dict.fromkeys(asked.hosts))
    if scale.most > len(hosts):
        raise StartError(f"--max {scale.most} is more than the {len(hosts)} hosts")
    if scale.largest > 1:
        raise StartError("--largest is for jobs of a batch system")
    one = evolve(settings, governors=RemoteGovernors((ANY_PLACE,)), scale=None, first=ANY_NUMBER)
    (daemon,) = plan_governors(one, server)
    job = Job(
        f"rain-{daemon.name}",
        _session_script(settings, daemon, access),
        access.folder,
        daemon.output,
    )
    kind = GovernorKind(
        scale.kind or SSH,
        _resources(BatchGovernors(SSH, 0), settings.resources),
        scale.least,
        scale.most,
        idle=scale.idle,
    )
    return KindOrder(kind, SSH, (job,), settings.prefix, hosts)


def _session_script(settings: Settings, daemon: PlannedDaemon, access: RemoteAccess) -> str:
    """The script that runs here while the governor lives there. It has the path of the secret."""
    if is_encrypted(settings):
        key, file, way = "--tls", str(settings.tls), evolve(access, certificate=CERTIFICATE)
    elif settings.insecure or settings.secret_file is None:
        key, file, way = "--insecure", "none", access
    else:
        key, file, way = "--secret-file", str(settings.secret_file), evolve(access, secret=SECRET)
    session = [*settings.rain[:-1], "rain.start.session", key, file, ANY_PLACE]
    there = start_script(daemon, way, boot(), GRACE)
    return f"""#!/bin/sh
cd {shlex.quote(str(access.folder))} || exit 1
exec {READY_FD}>{shlex.quote(str(ready_file(daemon.log_folder, daemon.name)))} || exit 1
exec {shlex.join([*session, *access.command(ANY_PLACE)])} <<'{_END}'
{there}{_END}
"""


def check_kind_name(name: str) -> None:
    """Refuses a name that cannot be that of jobs and files, or is that of other daemons."""
    if not _KIND.fullmatch(name) or name in {SERVER, STANDBY, NAME, GOVERNOR, TEMPLATE}:
        raise StartError(
            f"--kind {name!r} is not a name for governors: use letters, digits and _ . -, as gpu"
        )


def kind_to_change(
    order: ScalerOrder, name: str, launcher: str, *, named: bool
) -> KindOrder | None:
    """The kind with this name, which is to become another one; None if there is none.

    Args:
        order: of the cluster.
        name: of the kind.
        launcher: that the kind is to have.
        named: whether a user has named it, and does not want a further kind by the usual name.
    """
    known = next((one for one in order.kinds if one.kind.name == name), None)
    if known is None:
        return None
    if known.launcher != launcher:
        raise StartError(
            f"the kind {name!r} is started by {known.launcher}, and {launcher} cannot take over its"
            " governors: 'rain remove' it and name the other one differently, with --kind"
        )
    if not named and not known.removed:
        raise StartError(
            f"the cluster has a kind {name!r} already: name the other one with --kind, or say"
            f" --kind {name} to change it"
        )
    return known


def with_kind(order: ScalerOrder, one: KindOrder) -> ScalerOrder:
    """The order with a kind; one that is there already changes.

    Its governors go on if they are what it would start now.
    """
    known = next((old for old in order.kinds if old.kind.name == one.kind.name), None)
    if known is None:
        return ScalerOrder((*order.kinds, one))
    same = _gives(one) == _gives(known)
    changed = evolve(one, version=known.version + (not same))
    return ScalerOrder(tuple(changed if old is known else old for old in order.kinds))


def _gives(one: KindOrder) -> tuple[object, ...]:
    """The part of an order that its governors depend on; limits and hosts may change meanwhile."""
    job = one.drafts[0]
    asked = (job.cpus, job.memory, job.gpus, job.seconds, job.options, job.governor)
    return one.kind.resources, job.script, *asked


def without_kind(order: ScalerOrder, name: str) -> ScalerOrder:
    """The order in which a kind starts nothing any more; StartError if there is none."""
    there = [one for one in order.kinds if not one.removed]
    if all(one.kind.name != name for one in there):
        known = ", ".join(one.kind.name for one in there) or "none"
        raise StartError(f"the cluster has no kind {name!r} of governors that scales: {known}")
    return ScalerOrder(
        tuple(
            evolve(one, kind=evolve(one.kind, least=0, most=0)) if one.kind.name == name else one
            for one in order.kinds
        )
    )


def available_cpus() -> int:
    """The cpus of this machine that we may use."""
    return len(os.sched_getaffinity(0))


def plan_scaler(settings: Settings, server: str) -> PlannedDaemon:
    """Plans the process of the scaler."""
    tls = str(settings.tls) if is_encrypted(settings) else ""
    secret = "" if settings.secret_file is None or settings.insecure else str(settings.secret_file)
    return _scaler(settings.rain, settings.log_folder, server, secret, tls)


def again_scaler(cluster: ClusterDescription) -> PlannedDaemon:
    """Plans the scaler again for a cluster whose scaler has ended."""
    rain, folder = cluster.access.rain, cluster.log_folder
    return _scaler(rain, folder, cluster.addresses, cluster.secret_file, cluster.tls)


def _scaler(
    rain: tuple[str, ...], folder: Path, server: str, secret: str, tls: str
) -> PlannedDaemon:
    arguments = [NAME, server, "--logdir", str(folder)]
    if tls:
        arguments += ["--tls", tls]
    elif secret:
        arguments += ["--secret-file", secret]
    return PlannedDaemon(NAME, rain, folder, arguments=tuple(arguments))


def _draft(
    settings: Settings, asked: BatchGovernors, server: str, folder: Path, cpus_variable: str
) -> Job:
    one = evolve(settings, governors=evolve(asked, count=1), scale=None, first=ANY_NUMBER)
    (daemon,) = plan_governors(one, server)
    return plan_job(daemon, asked, folder, cpus_variable)


def _larger(asked: BatchGovernors, size: int) -> BatchGovernors:
    """A job that is `size` times as large."""
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
    """The resources of each governor; None if the batch system alone decides them.

    What is not said is known when the first one joins. Until then it is taken to be enough.
    """
    if asked.cpus is None and asked.gpus is None and not named:
        return None
    cpus = _MANY_CPUS if asked.cpus is None else asked.cpus
    memory = LARGEST if asked.memory is None else asked.memory
    return Resources.of({CPUS: cpus, MEMORY: memory, GPUS: asked.gpus or 0, **dict(named)})
