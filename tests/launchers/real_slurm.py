"""A real Slurm on this machine: a controller and virtual nodes, which end with the test."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tests.support.waiting import until_now


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now. Slurm cannot be told to find some itself."""
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in opened:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in opened]


def _settings(folder: Path, nodes: int) -> str:
    host, user = socket.gethostname(), getpass.getuser()
    controller, *ports = free_ports(nodes + 1)
    lines = [
        "ClusterName=t",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={controller}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/none",
        "CredType=cred/none",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmctldPidFile={folder}/run/slurmctld.pid",
        f"SlurmdPidFile={folder}/run/%n.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "MpiDefault=none",
        "SwitchType=switch/none",
        "ReturnToService=2",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU_Memory",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=5,sched_min_interval=0",
        "SlurmdParameters=config_overrides",
        "KillWait=5",
    ]
    for number, port in enumerate(ports, start=1):
        lines.append(
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2"
            " RealMemory=4000"
        )
    names = ",".join(f"n{number}" for number in range(1, nodes + 1))
    lines.append(f"PartitionName=main Nodes={names} Default=YES MaxTime=1:00:00 State=UP")
    lines.append(f"PartitionName=long Nodes={names} MaxTime=UNLIMITED State=UP")
    return "\n".join(lines) + "\n"


@contextmanager
def real_slurm(folder: Path, nodes: int = 2) -> Generator[Path]:
    """Starts it; the value for SLURM_CONF. All nodes are idle then."""
    for name in ("state", "spool", "run", "log"):
        (folder / name).mkdir(parents=True)
    for number in range(1, nodes + 1):
        (folder / "spool" / f"n{number}").mkdir()
    settings = folder / "slurm.conf"
    settings.write_text(_settings(folder, nodes))
    environment = {**os.environ, "SLURM_CONF": str(settings)}
    daemons = [subprocess.Popen(["slurmctld", "-D", "-c", "-f", str(settings)], env=environment)]
    try:
        for number in range(1, nodes + 1):
            command = ["slurmd", "-D", "-N", f"n{number}", "-f", str(settings)]
            daemons.append(subprocess.Popen(command, env=environment))
        until_now(partial(_is_idle, nodes, environment, daemons))
        yield settings
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)


def _is_idle(
    nodes: int, environment: dict[str, str], daemons: list[subprocess.Popen[bytes]]
) -> bool:
    ended = [daemon.args for daemon in daemons if daemon.poll() is not None]
    assert not ended, f"{ended} has ended"
    asked = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--partition=main", "--format=%T"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return asked.stdout.split().count("idle") == nodes
