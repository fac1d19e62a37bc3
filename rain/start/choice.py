"""Finds the cluster that a user means: by log folder, by address, or because there is only one."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Sequence
from pathlib import Path

from rain.base.address import DEFAULT_PORT, split_address, without_scheme
from rain.base.errors import StartError
from rain.daemon.exposure import is_loopback
from rain.start.clusters import FILE, ClusterDescription, Index, StartedElsewhere, read_cluster


def find_cluster(index: Index, wanted: str) -> ClusterDescription:
    """Returns the running cluster that the user means; StartError says why there is none."""
    wanted = without_scheme(wanted)
    if is_folder(wanted):
        return _by_folder(Path(wanted).absolute())
    running, elsewhere = index.look()
    if wanted:
        return _by_address(running, wanted)
    if not running:
        raise StartError(f"no cluster of yours runs on this machine{_and_elsewhere(elsewhere)}")
    if len(running) > 1:
        raise StartError(
            "several clusters of yours run on this machine; say which one:"
            + "".join(f"\n  {describe(cluster)}" for cluster in running)
        )
    return running[0]


def server_of(index: Index, wanted: str) -> ClusterDescription | None:
    """Returns the cluster of the server, or None if the user has not started it here.

    An address may be that of any server, not only of one in a cluster of the user.
    """
    wanted = without_scheme(wanted)
    if is_folder(wanted):
        return _by_folder(Path(wanted).absolute())
    running, _ = index.look()
    if wanted:
        found = [cluster for cluster in running if _is_server_of(cluster, wanted)]
        if len(found) != 1:
            return None
        return found[0]
    return find_cluster(index, "") if running else None


def serves_http(index: Index, wanted: str) -> ClusterDescription | None:
    """Returns the user's cluster that serves HTTP at an address, or the only one there is.

    A log folder may stand for the address.
    """
    wanted = without_scheme(wanted)
    if is_folder(wanted):
        cluster = _by_folder(Path(wanted).absolute())
        if not cluster.http:
            raise StartError(f"the cluster of {cluster.log_folder} serves no HTTP")
        return cluster
    found = [
        cluster
        for cluster in index.look()[0]
        if cluster.http and (not wanted or is_address_of(cluster.http, wanted))
    ]
    if len(found) > 1:
        raise StartError(
            "several clusters of yours run on this machine; say which one:"
            + "".join(f"\n  {cluster.http}  {cluster.log_folder}" for cluster in found)
        )
    return found[0] if found else None


def describe(cluster: ClusterDescription) -> str:
    """Describes a cluster in one line."""
    count = cluster.governors
    governors = "1 governor" if count == 1 else f"{count} governors"
    return f"{cluster.address}  {governors}  {cluster.log_folder}"


def left_behind(cluster: ClusterDescription) -> str:
    """Advice about a cluster whose server has died."""
    folder = shlex.quote(str(cluster.log_folder))
    way = f"go on with 'rain restart {folder}', or " if cluster.server_command else ""
    return (
        f"the server of the cluster at {cluster.address} has died, and its governors still run:"
        f" {way}end them with 'rain stop {folder}'"
    )


def _is_server_of(cluster: ClusterDescription, wanted: str) -> bool:
    return any(is_address_of(address, wanted) for address in cluster.addresses.split(","))


def is_address_of(address: str, wanted: str) -> bool:
    """Whether PORT, HOST or HOST:PORT may stand for this address."""
    host, port = split_address(address)
    if wanted.isdecimal():
        return port == int(wanted)
    wanted_host, colon, wanted_port = wanted.rpartition(":")
    if not colon or not wanted_port.isdecimal():
        wanted_host, wanted_port = wanted, str(port)
    bare = wanted_host.strip("[]")
    same_host = bare == host or (is_loopback(bare) and is_loopback(host))
    return same_host and int(wanted_port) == port


def is_folder(wanted: str) -> bool:
    """Whether the user means a log folder, and not an address.

    StartError if it may be either, the name of a host or of a folder without a cluster.
    """
    wanted = without_scheme(wanted)
    if not wanted:
        return False
    if "/" in wanted or (Path(wanted) / FILE).exists():
        return True
    if ":" not in wanted and not wanted.isdecimal() and Path(wanted).is_dir():
        raise StartError(
            f"{wanted} is a folder here, and no cluster was started with its logs in it: name the"
            f" log folder of one, or write {wanted}:{DEFAULT_PORT} if a host is meant"
        )
    return False


def _by_folder(folder: Path) -> ClusterDescription:
    cluster = read_cluster(folder)
    if cluster is None:
        raise StartError(f"no cluster was started with its logs in {folder}")
    if cluster.machine != socket.gethostname():
        raise StartError(f"the cluster of {folder} was started on {cluster.machine}: go there")
    # Governors on other hosts end with their server, but this cannot be checked from here.
    # Jobs may wait in a batch system although the server has died.
    if not cluster.is_running() and not cluster.elsewhere() and not cluster.jobs:
        raise StartError(f"the cluster of {folder} does not run any more")
    return cluster


def _by_address(running: Sequence[ClusterDescription], wanted: str) -> ClusterDescription:
    found = [cluster for cluster in running if _is_server_of(cluster, wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise StartError(
            f"several clusters of yours may be meant by {wanted}; say which one:"
            + "".join(f"\n  {describe(cluster)}" for cluster in found)
        )
    others = "".join(f"\n  {describe(cluster)}" for cluster in running)
    known = f"; these do:{others}" if others else ""
    raise StartError(f"no cluster of yours runs at {wanted}{known}")


def _and_elsewhere(elsewhere: Sequence[StartedElsewhere]) -> str:
    if not elsewhere:
        return ""
    return "; these were started on others:" + "".join(
        f"\n  {other.machine}  {other.log_folder}" for other in elsewhere
    )
