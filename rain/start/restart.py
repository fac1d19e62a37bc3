"""Restarts the server of a cluster, while its governors and clients wait for it.

In a cluster with a standby both servers are replaced, one after the other: first the standby, which
then leads while the other one is restarted.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from attrs import evolve

from rain.base.errors import StartError
from rain.start.children import how_ended
from rain.start.clusters import ClusterDescription, Index, StartedDaemon, changing, write_cluster
from rain.start.ending import GRACE, wait_readable
from rain.start.interrupts import interrupts
from rain.start.launch import Launch
from rain.start.plan import PlannedDaemon
from rain.start.processes import is_running, open_process
from rain.start.scaling_plan import again_scaler
from rain.start.standbys import LEADS, look_at_servers
from rain.start.start import StartedCluster

_AFTER_FORCE = 10.0  # seconds that the kernel may need to remove a killed process


def restart_server(
    wanted: ClusterDescription, timeout: float, index: Index, grace: float = GRACE
) -> StartedCluster:
    """Starts the server again, with the program that is installed now.

    One that runs is ended first, but only if the next one would start.
    """
    if not wanted.server_command:
        raise StartError(
            f"the server of the cluster at {wanted.address} has no journal, so a restart would"
            " lose its sessions: use 'rain stop' and 'rain start'"
        )
    with changing(wanted.log_folder) as cluster:
        if any(is_running(server.mark) for server in _here(cluster)):
            _check(cluster, timeout)
        return _restart(cluster, timeout, index, grace)


def _here(cluster: ClusterDescription) -> list[StartedDaemon]:
    """The servers of this machine."""
    standby = cluster.standby
    return [cluster.server, *([] if standby is None or standby.host else [standby])]


def _check(cluster: ClusterDescription, timeout: float) -> None:
    """Raises StartError if the next server would not start, while the one before still runs."""
    try:
        done = subprocess.run(
            [*cluster.server_command, "--check"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = f"it was not ready to start within {timeout:g} seconds (--timeout)"
    except OSError as error:
        why = f"{cluster.server_command[0]}: {error.strerror}"
    else:
        if done.returncode == 0:
            return
        said = done.stderr.decode("utf-8", "replace").strip()
        why = said.rpartition("\n")[2].removeprefix("rain: ") or how_ended(done.returncode)
    raise StartError(
        f"the server at {cluster.address} goes on as before, because the next one would not start:"
        f" {why}"
    )


def _restart(
    cluster: ClusterDescription, timeout: float, index: Index, grace: float
) -> StartedCluster:
    with interrupts() as signals, Launch(signals, timeout) as launch:
        if cluster.standby is None:
            _end(cluster.server, grace)
            server, note = _start(launch, cluster, cluster.server, cluster.server_command)
            again = evolve(cluster, members=(server, *cluster.members[1:]))
        else:
            again, note = _both(launch, cluster, cluster.standby, grace), ""
        again = evolve(again, scaler=_scaler(cluster, launch))
        write_cluster(again)
        launch.settle()
    index.remove(cluster)
    index.add(again)
    return StartedCluster(again, note=note)


def _both(
    launch: Launch, cluster: ClusterDescription, standby: StartedDaemon, grace: float
) -> ClusterDescription:
    """Replaces the server and the standby, but for one on another host: that is left as it is."""
    servers = {"server": cluster.server, "standby": standby}
    commands = {"server": cluster.server_command, "standby": cluster.standby_command}
    leads = look_at_servers(cluster).get(standby.address) == LEADS
    for name in ("server", "standby") if leads else ("standby", "server"):
        one = servers[name]
        if not one.host:
            _end(one, grace)
            servers[name], _ = _start(launch, cluster, one, commands[name])
    members = (servers["server"], *cluster.members[1:])
    return evolve(cluster, members=members, standby=servers["standby"])


def _start(
    launch: Launch, cluster: ClusterDescription, before: StartedDaemon, command: tuple[str, ...]
) -> tuple[StartedDaemon, str]:
    """One of its servers, started again, and what it says of its journal."""
    child = launch.local(PlannedDaemon(before.name, command, cluster.log_folder), again=True)
    launch.wait_until_ready([child])
    assert child.mark is not None
    return evolve(before, mark=child.mark), child.said


def _scaler(cluster: ClusterDescription, launch: Launch) -> StartedDaemon | None:
    """The scaler of the cluster; another one if it has ended."""
    known = cluster.scaler
    if known is None or is_running(known.mark):
        return known
    child = launch.local(again_scaler(cluster), again=True)
    launch.wait_until_ready([child])
    assert child.mark is not None
    return evolve(known, mark=child.mark)


def _end(server: StartedDaemon, grace: float) -> None:
    """Ends a server, if it runs, so that governors and clients wait for the next one.

    One that hangs is killed after its grace: all that it has told anybody is in its journal. The
    same signal ends a standby, which may have begun to lead meanwhile.
    """
    process = open_process(server.mark)
    if process is None:
        return
    try:
        for number, seconds in ((signal.SIGHUP, grace), (signal.SIGKILL, _AFTER_FORCE)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, number)
            if wait_readable([process], seconds):
                return
        raise StartError(f"the {server.name} (process {server.mark.pid}) does not end")
    finally:
        os.close(process)
