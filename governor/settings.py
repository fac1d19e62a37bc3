"""The settings of the governor program (see rain/cli/governor_command.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attrs import Factory, frozen

from rain.base.address import DEFAULT_PORT, LOOPBACK
from rain.base.admission import Secret
from rain.base.resources import Resources
from rain.base.silence import AWAY_LIMIT, SILENCE_LIMIT
from rain.daemon.readiness import Readiness
from rain.governor.core.cancelling import GRACE
from rain.governor.core.reactor_settings import IDLE_SECONDS
from rain.governor.machine.budget import Budget
from rain.governor.machine.descriptors import Descriptors
from rain.governor.machine.memory_sampler import TASK_PROCESSES
from rain.tls.keys import Keys

if TYPE_CHECKING:
    from rain.tls.identity import Identity

DRAIN_SECONDS = 25.0
"""Less than the 30 seconds after which Kubernetes and Slurm kill what they have told to end."""


@frozen
class GovernorSettings:
    """The settings of a governor, which listens on loopback by default.

    Code that both daemons share is in rain.daemon: folders (`make_folder`, `default_log_folder`),
    logs (`configure`, `close`), readiness (`announce`), lifetime (`end`).
    """

    servers: tuple[tuple[str, int], ...] = ((LOOPBACK, DEFAULT_PORT),)  # of which one leads
    host: str = LOOPBACK  # the address for readers of data
    port: int = 0
    secret: Secret | None = None
    identity: Identity | None = None  # None: nothing is encrypted
    resources: Resources = Factory(Resources)
    server_silence: float | None = SILENCE_LIMIT  # seconds until the server is lost; None: never
    server_wait: float = 0.0  # seconds to wait for a server that is not there yet
    server_away: float = AWAY_LIMIT  # seconds to wait for a server that comes back
    budget: Budget = Factory(Budget)
    gpus: tuple[str, ...] = ()  # their names; () for 0, 1, ... as many as the resources say
    monitoring_seconds: float = 5.0  # between two samples of the load; 0 for none
    config: Path | None = None  # names executors of the user's own (see executor_config.py)
    idle_seconds: float = IDLE_SECONDS  # surplus executors that were idle for so long are ended
    cancel_grace: float = GRACE  # seconds that a stopped task has to end by itself
    task_processes: int = TASK_PROCESSES  # a task with more processes is ended
    descriptors: Descriptors | None = None  # of each process; None: as this one may have
    most_blocked: int | None = None  # calls that may wait for other tasks; None: see `resources`
    cache_limit: int | None = None  # bytes of a cache; None for a part of its disk
    environment_limit: int | None = None  # bytes of all environments; None: see there
    conda: str | None = None  # makes conda environments; None: the first that is there
    spill_to: str | None = None  # a URL or folder for data that the disk has no room for
    work_folder: Path | None = None  # None for a new one below the temporary folder
    drain_seconds: float = DRAIN_SECONDS  # for which it stays when it is told to leave
    leaves_at: float | None = None  # by the clock of the machine: when it must be gone
    share_store: bool = True  # with other governors and clients of this machine
    zero: bool = False  # run nothing, report everything as finished at once
    log_folder: Path | None = None
    log_level: str = "info"
    readiness: Readiness = Factory(Readiness)
    parent_fd: int | None = None

    @property
    def keys(self) -> Keys:
        return Keys(self.secret, self.identity)
