"""The keywords of `rain.cluster.Cluster`: options of `rain start` under their names there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from rain.start.options import AnyPath, Environment


class HandedOn(TypedDict, total=False):
    """Options that are passed on to the commands of the server and of each governor."""

    scheduler: str  # these are options of `rain server`: "FILE.py:CLASS" is one of your own
    scheduler_options: Mapping[str, object]
    scheduler_limit: float
    overbooking: int
    infeasible_grace: float
    crash_limit: int
    late_after: float
    late_factor: float
    governor_timeout: float
    client_timeout: float
    governor_grace: float
    client_grace: float
    lease: str
    lease_seconds: float
    event_log: bool
    event_log_objects: bool
    event_log_days: float
    event_log_limit: str

    memory: int | str  # and these are options of `rain governor`: bytes, or as "64G"
    gpus: int
    store: str
    disk: str
    spill_to: str
    share_store: bool
    monitoring: float
    idle_seconds: float
    cancel_grace: float
    drain_seconds: float
    most_blocked: int
    task_processes: int
    task_descriptors: int
    environment_limit: str
    conda: str
    server_timeout: float
    server_away: float
    log_level: str  # of all daemons


class ServerOptions(HandedOn, total=False):
    """The keywords of every cluster: options of `rain start`, with the same names."""

    listen: str
    advertise: str
    http_listen: str
    governor_config: AnyPath
    cache_limit: str
    users: AnyPath
    logdir: AnyPath
    workdir: AnyPath
    journal: AnyPath
    standby: bool  # a second server on this machine, which takes over if the first one dies
    standby_host: str  # the same on another host
    secret_file: AnyPath
    tls: AnyPath
    insecure: bool
    timeout: float
    before: str  # shell commands that come before each governor, as "module load python"
    after: str  # shell commands that come when a governor has ended
    resources: Mapping[str, int]  # more of them, which each governor offers, as {"licence": 2}
    env: Environment  # variables of each governor and its tasks
    container: str  # an image of Apptainer with Rain in it
    container_options: Iterable[str]  # more options of `apptainer exec`, as ["--nv"]
    scratch: str  # where each governor keeps its data, as "/scratch/$USER"


class ScaleOptions(ServerOptions, total=False):
    """The keywords of a cluster whose number of governors follows the work."""

    maximum: int
    minimum: int  # of governors that are there without any work; 0 unless it is said
    largest: int  # how many times as large one job may be, if few large jobs are better
    idle: float | str  # how long a governor may have no task: seconds, or as "60s"
    kind: str  # what these governors are called, if there are several kinds of them


class SshOptions(ScaleOptions, total=False):
    """The keywords of a cluster of hosts that are reached through ssh."""

    user: str  # on hosts that name none
    jump: str  # the host through which the others are reached, or several: "one,two"
    ssh: str  # another command, as "ssh -F my-config"


class JobOptions(ScaleOptions, total=False):
    """The keywords of a cluster of jobs. The batch system decides on amounts that are not given."""

    cpus: int  # of each job
    time: int | str  # how long each may run: seconds, or as "1:00:00", "90m", "2h"
    options: Iterable[str]  # more options of the batch system, as ["--partition=long"]
    wait: int  # how many governors are to be ready at once; the others may wait in the queue
