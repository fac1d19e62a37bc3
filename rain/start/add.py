"""Adds governors to a cluster that runs: here, on other hosts, or as jobs. All or nothing."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from attrs import evolve, frozen

from rain.base.address import split_address
from rain.base.errors import StartError
from rain.common.secret_file import keep_secret, read_secret
from rain.daemon.exposure import is_loopback
from rain.daemon.folders import make_folder
from rain.start.clusters import Cluster, JobEntry, Member, changing, write_cluster
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.interrupts import interrupts
from rain.start.jobs import Submission
from rain.start.launch import Launch
from rain.start.plan import NONE, Settings, check_reach, seen_from_governors
from rain.start.remote import RemoteAccess
from rain.start.start import handing, launch_governors, member_of, order_template, own_address

_NAMED = re.compile(r"governor-(\d+)")


@frozen
class Added:
    """What has come to a cluster."""

    members: tuple[Member, ...]
    jobs: tuple[JobEntry, ...]


def add_governors(
    wanted: Cluster, settings: Settings, access: RemoteAccess, timeout: float
) -> Added:
    """Starts governors for a cluster; StartError if any cannot be, and then none is left running.

    The settings say which, and what they have that the governors of the cluster have not.
    """
    with changing(wanted.log_folder) as cluster:
        if not cluster.has_server:
            raise StartError(f"the server of the cluster at {cluster.address} does not run")
        _check_way(cluster, settings)
        settings = _alike(cluster, settings)
        secret = read_secret(settings.secret_file).key.decode() if settings.secret_file else ""
        address = cluster.addresses
        if not isinstance(settings.governors, LocalGovernors):
            address = cluster.or_standby(
                seen_from_governors(cluster.server.address, own_address(settings))
            )
        with (
            interrupts() as signals,
            Submission() as submission,
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


def _check_way(cluster: Cluster, settings: Settings) -> None:
    """Refuses governors elsewhere for a server that only this machine reaches."""
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


def _alike(cluster: Cluster, settings: Settings) -> Settings:
    """The settings for governors that are like those of the cluster, unless they say otherwise."""
    names = [member.name for member in cluster.members] + [job.name for job in cluster.jobs]
    numbers = [int(found[1]) for name in names if (found := _NAMED.fullmatch(name))]
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


def _secret_file(cluster: Cluster, settings: Settings) -> Path | None:
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
