"""Starts the server of a cluster again under its governors and clients, which wait for it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from attrs import evolve

from rain.base.errors import StartError
from rain.start.clusters import Cluster, Index, Member, changing, write_cluster
from rain.start.ending import wait_readable
from rain.start.interrupts import interrupts
from rain.start.launch import Launch
from rain.start.plan import Daemon
from rain.start.processes import is_running, open_process
from rain.start.scaling_plan import again_scaler
from rain.start.start import StartedCluster

GRACE = 10.0
_AFTER_FORCE = 10.0  # seconds that the kernel may need to remove a killed process


def restart_server(
    wanted: Cluster, timeout: float, index: Index, grace: float = GRACE
) -> StartedCluster:
    """Starts the server again, with the program that is installed now; ends it first if it runs."""
    if not wanted.server_command:
        raise StartError(
            f"the server of the cluster at {wanted.address} has no journal, so nothing would go"
            " on: use 'rain stop' and 'rain start'"
        )
    with (
        changing(wanted.log_folder) as cluster,
        interrupts() as signals,
        Launch(signals, timeout) as launch,
    ):
        _end_server(cluster, grace)
        daemon = Daemon("server", cluster.server_command, cluster.log_folder)
        child = launch.local(daemon, again=True)
        launch.wait_until_ready([child])
        assert child.mark is not None
        server = Member("server", child.address, child.mark)
        again = evolve(
            cluster, members=(server, *cluster.members[1:]), scaler=_scaler(cluster, launch)
        )
        write_cluster(again)
        launch.settle()
    index.remove(cluster)
    index.add(again)
    return StartedCluster(again, note=child.said)


def _scaler(cluster: Cluster, launch: Launch) -> Member | None:
    """The scaler of the cluster; another one if it has ended."""
    known = cluster.scaler
    if known is None or is_running(known.mark):
        return known
    child = launch.local(again_scaler(cluster), again=True)
    launch.wait_until_ready([child])
    assert child.mark is not None
    return evolve(known, mark=child.mark)


def _end_server(cluster: Cluster, grace: float) -> None:
    """Ends the server, if it runs, so that governors and clients wait for the next one.

    One that hangs is killed after its grace: all that it has told anybody is in its journal.
    """
    process = open_process(cluster.server.mark)
    if process is None:
        return
    try:
        for number, seconds in ((signal.SIGHUP, grace), (signal.SIGKILL, _AFTER_FORCE)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if wait_readable([process], seconds):
                return
        raise StartError(f"the server (process {cluster.server.mark.pid}) does not end")
    finally:
        os.close(process)
