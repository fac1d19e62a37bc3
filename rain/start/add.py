"""Adds governors to a running cluster: here, on other hosts, or as jobs. All or nothing.

Kinds of governors that the scaler starts are added, changed and removed here, too.
"""

from __future__ import annotations

import re
import shlex
import socket
from contextlib import ExitStack
from pathlib import Path

from attrs import evolve, frozen

from rain.base.address import split_address
from rain.base.durations import say_duration
from rain.base.errors import StartError
from rain.base.resources import GPUS, MEMORY
from rain.base.sizes import spell_size
from rain.common.secret_file import keep_secret, read_secret
from rain.daemon.exposure import is_loopback
from rain.daemon.folders import make_folder
from rain.launchers.registry import find_launcher
from rain.start.choice import left_behind
from rain.start.clusters import ClusterDescription, JobEntry, StartedDaemon, changing, write_cluster
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.interrupts import interrupts
from rain.start.jobs import JobSubmission
from rain.start.launch import Launch
from rain.start.plan import NONE, Settings, check_reach, seen_from_governors
from rain.start.processes import is_running
from rain.start.remote import RemoteAccess
from rain.start.scaling_files import (
    STATE_FILE,
    KindOrder,
    ScalerOrder,
    read_order,
    read_state,
    write_order,
)
from rain.start.scaling_plan import (
    HERE,
    LOCAL,
    again_scaler,
    check_kind_name,
    kind_to_change,
    launcher_name,
    plan_kind,
    with_kind,
    without_kind,
)
from rain.start.start import handing, launch_governors, member_of, order_template, own_address

_NAMED = re.compile(r"governor-(\d+)")


@frozen
class Added:
    """The additions to a cluster, and the changes of its kinds."""

    members: tuple[StartedDaemon, ...] = ()
    jobs: tuple[JobEntry, ...] = ()
    kinds: tuple[str, ...] = ()  # of governors that are started when work waits for them
    changes: tuple[str, ...] = ()  # what is another in a kind that was there, as "max 4, now 5"
    replaced: bool = False  # its governors go, since the next ones get something else


def add_governors(
    wanted: ClusterDescription, settings: Settings, access: RemoteAccess, timeout: float
) -> Added:
    """Starts governors for a cluster; StartError if one cannot be started, and then none keeps
    running.

    The settings say which, and what they have that the governors of the cluster have not.
    """
    with changing(wanted.log_folder) as cluster:
        _check_way(cluster, settings)
        settings = _alike(cluster, settings)
        secret = read_secret(settings.secret_file).key.decode() if settings.secret_file else ""
        address = _address_for(cluster, settings)
        with (
            interrupts() as signals,
            JobSubmission() as submission,
            Launch(signals, timeout) as launch,
        ):
            template = order_template(launch, settings)
            children = launch_governors(
                launch, submission, settings, address, handing(access, settings, secret), template
            )
            members = [member_of(child) for child in children]
            added = Added(
                tuple(evolve(one, access=access) if one.host else one for one in members),
                tuple(submission.entries),
            )
            write_cluster(
                evolve(
                    cluster,
                    members=(*cluster.members, *added.members),
                    jobs=(*cluster.jobs, *added.jobs),
                )
            )
            submission.keep()
            launch.settle()
    return added


def add_kind(
    wanted: ClusterDescription, settings: Settings, access: RemoteAccess, timeout: float
) -> Added:
    """Lets the scaler of a cluster start another kind of governors, too; it may be the first one.

    `settings.scale` says how many there may be. If the cluster has a kind with this name, the new
    settings replace it.
    """
    scale = settings.scale
    assert scale is not None
    with (
        changing(wanted.log_folder) as cluster,
        interrupts() as signals,
        Launch(signals, timeout) as launch,
        ExitStack() as undone,
    ):
        _check_way(cluster, settings)
        order = known_order(cluster)
        settings = _alike(cluster, settings)
        launcher = launcher_name(settings)
        name = scale.kind or launcher
        known = kind_to_change(order, name, launcher, named=bool(scale.kind))
        if known is None:
            check_kind_name(name)
            settings = evolve(settings, prefix=name)
        else:  # its governors write and work where they did
            access = evolve(access, folder=known.drafts[0].folder)
            settings = evolve(settings, prefix=known.prefix, log_folder=known.log_folder)
        settings = evolve(settings, neighbours=settings.neighbours + _here(order, name))
        kind = plan_kind(
            settings, scale, _address_for(cluster, settings), access, find_launcher(launcher)
        )
        changed = with_kind(order, kind)
        write_order(cluster.log_folder, changed)
        undone.callback(write_order, cluster.log_folder, order)
        if cluster.scaler is None:
            (cluster.log_folder / STATE_FILE).unlink(missing_ok=True)  # of an earlier cluster
        if cluster.scaler is None or not is_running(cluster.scaler.mark):
            child = launch.local(again_scaler(cluster), again=cluster.scaler is not None)
            launch.wait_until_ready([child])
            write_cluster(evolve(cluster, scaler=member_of(child)))
        launch.settle()
        undone.pop_all()
    if known is None or known.removed:
        return Added(kinds=(name,))
    now = changed.kind(name)
    return Added((), (), (name,), _changes(known, now), now.version != known.version)


def remove_kind(wanted: ClusterDescription, name: str) -> int:
    """Removes a kind of governors: the scaler starts no more of them, and those that exist drain.

    Returns how many there are, including those that wait in a queue.
    """
    with changing(wanted.log_folder) as cluster:
        order = without_kind(known_order(cluster), name)
        if cluster.scaler is None or not is_running(cluster.scaler.mark):
            raise StartError("the scaler has ended: 'rain restart' starts it again")
        write_order(cluster.log_folder, order)
        state = read_state(cluster.log_folder)
    return 0 if state is None else sum(job.kind == name for job in state.jobs)


def _changes(before: KindOrder, now: KindOrder) -> tuple[str, ...]:
    """The changes of a kind, in words for people."""
    told = [_described(before), _described(now)]
    names = dict.fromkeys([*told[0], *told[1]])
    differ = [(name, *(one.get(name, "none") for one in told)) for name in names]
    found = [f"{name} {old}, now {new}" for name, old, new in differ if old != new]
    if not found and before.version != now.version:
        found = ["options of its jobs"]
    return tuple(found)


def _described(one: KindOrder) -> dict[str, str]:
    kind, job = one.kind, one.drafts[0]
    idle = None if kind.idle is None else say_duration(kind.idle)
    told = {"max": kind.most, "min": kind.least, "idle": idle, "largest": kind.largest}
    asked = {
        "cpus": job.cpus,
        "memory": None if job.memory is None else spell_size(job.memory),
        "gpus": job.gpus,
        "time": None if job.seconds is None else say_duration(job.seconds),
        "options": shlex.join(job.options),
        "hosts": " ".join(one.places),
    }
    others = () if kind.resources is None else kind.resources.others
    named = {name: amount for name, amount in others if name not in {MEMORY, GPUS}}
    return {name: str(value) for name, value in {**told, **asked, **named}.items() if value}


def known_order(cluster: ClusterDescription) -> ScalerOrder:
    """The kinds that the scaler of a cluster may start; none if it has no scaler."""
    return ScalerOrder() if cluster.scaler is None else read_order(cluster.log_folder)


def has_jobs(cluster: ClusterDescription) -> bool:
    """Whether jobs of a batch system find the log folder of a cluster, since it has some."""
    return bool(cluster.jobs) or any(
        one.launcher not in HERE and one.log_folder == cluster.log_folder
        for one in known_order(cluster).kinds
    )


def _here(order: ScalerOrder, but: str) -> int:
    """How many governors of this machine there may be of other kinds."""
    kinds = [one.kind for one in order.kinds if one.launcher == LOCAL]
    return sum(kind.most for kind in kinds if kind.name != but)


def _address_for(cluster: ClusterDescription, settings: Settings) -> str:
    """Where these governors find the servers of a cluster."""
    if isinstance(settings.governors, LocalGovernors):
        return cluster.addresses
    own = own_address(settings)
    return cluster.or_standby(seen_from_governors(cluster.server.address, own))


def _check_way(cluster: ClusterDescription, settings: Settings) -> None:
    """Refuses governors elsewhere for a server that only this machine reaches, or that is gone."""
    if not cluster.has_server:
        raise StartError(left_behind(cluster))
    host, _ = split_address(cluster.server.address)
    governors = settings.governors
    if isinstance(governors, RemoteGovernors):
        name = socket.gethostname()
        check_reach(host, governors.hosts, frozenset({name, name.partition(".")[0]}))
    elif isinstance(governors, BatchGovernors) and is_loopback(host):
        raise StartError(
            f"jobs on other machines cannot reach a server that listens at {host}: it needs"
            " --listen 0.0.0.0, or an address that other machines reach"
        )


def _alike(cluster: ClusterDescription, settings: Settings) -> Settings:
    """The settings for governors that are like those of the cluster, unless they say otherwise."""
    names = [member.name for member in cluster.members] + [job.name for job in cluster.jobs]
    numbers = [int(found[1]) for name in names if (found := _NAMED.fullmatch(name))]
    scaled = read_state(cluster.log_folder) if cluster.scaler is not None else None
    if scaled is not None:
        numbers.append(scaled.first - 1)
    return evolve(
        settings,
        first=max(numbers, default=-1) + 1,
        neighbours=sum(not member.host for member in cluster.members[1:]),
        governor_config=settings.governor_config or _path(cluster.alike.config),
        cache_limit=settings.cache_limit or cluster.alike.cache_limit or None,
        work_folder=settings.work_folder or _path(cluster.alike.work_folder),
        secret_file=_secret_file(cluster, settings),
        tls=Path(cluster.tls) if cluster.tls else NONE,
        insecure=not cluster.secret_file and not cluster.tls,
    )


def _secret_file(cluster: ClusterDescription, settings: Settings) -> Path | None:
    """The secret of the cluster, where the governors find it: perhaps beside their logs."""
    file = _path(cluster.secret_file)
    make_folder(settings.log_folder, "log folder")
    if file is None or file.parent == settings.log_folder or file.parent != cluster.log_folder:
        return file
    copy = settings.log_folder / file.name
    keep_secret(copy, read_secret(file))
    return copy


def _path(text: str) -> Path | None:
    return Path(text) if text else None
