"""What every start of a cluster may say, whichever governors it has; checked here."""

from __future__ import annotations

import os
import socket
import sys
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

import rain
from rain.base.errors import StartError
from rain.base.sizes import parse_size
from rain.daemon.addresses import parse_address
from rain.daemon.folders import default_log_folder
from rain.start.clusters import has_ended, user_index
from rain.start.governors import SSH, BatchGovernors, Governors
from rain.start.plan import DEFAULT_PORT, NONE, Settings, run_rain
from rain.start.remote import RemoteAccess
from rain.start.start import StartedCluster, start_cluster

AnyPath: TypeAlias = str | PathLike[str]
USUAL_SSH = tuple(SSH.split())


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


@frozen
class StartOptions:
    """The options that have the same meaning for all governors: see `rain start --help`."""

    listen: str = ""
    advertise: str = ""
    http_listen: str = ""
    http_hosts: tuple[str, ...] = ()
    governor_config: Path | None = field(default=None, converter=_path)
    cache_limit: str | None = None
    secret_file: Path | None = field(default=None, converter=_path)
    tls: Path | None = field(default=None, converter=_path)
    insecure: bool = False
    logdir: Path | None = field(default=None, converter=_path)
    workdir: Path | None = field(default=None, converter=_path)
    journal: Path | None = field(default=None, converter=_path)
    timeout: float = 60.0
    runprefix: tuple[str, ...] = ()

    @property
    def listen_host(self) -> str:
        """The host of the server's address, if the user has named one."""
        return parse_address(self.listen, "", DEFAULT_PORT)[0]

    def start(
        self,
        governors: Governors,
        *,
        reserve_cpu: bool = False,
        remote_init: str = "",
        ssh: tuple[str, ...] = USUAL_SSH,
    ) -> StartedCluster:
        """Starts a cluster; StartError if it cannot be, and then nothing is left running."""
        self._check()
        here = Path.cwd()
        command = run_rain(sys.executable, Path(rain.__file__).resolve().parent.parent, here)
        host, port = parse_address(self.listen, "", DEFAULT_PORT)
        settings = Settings(
            governors=governors,
            rain=command,
            log_folder=self._log_folder(governors).absolute(),
            listen_host=host,
            listen_port=port,
            http_listen=self.http_listen,
            http_hosts=self.http_hosts,
            governor_config=_whole(self.governor_config),
            cache_limit=self.cache_limit,
            journal=self.journal if self.journal == NONE else _whole(self.journal),
            work_folder=_whole(self.workdir),
            run_prefix=self.runprefix,
            reserve_cpu=reserve_cpu,
            secret_file=_whole(self.secret_file),
            tls=self.tls if self.tls is None or self.tls == NONE else self.tls.absolute(),
            insecure=self.insecure,
            advertise=self.advertise,
        )
        access = RemoteAccess(ssh, here, remote_init, command)
        return start_cluster(settings, access, self.timeout, user_index())

    def _check(self) -> None:
        if self.governor_config is not None and not self.governor_config.is_file():
            raise StartError(f"--governor-config {self.governor_config} is not a file")
        if self.cache_limit is not None:
            try:
                parse_size(self.cache_limit)
            except ValueError as error:
                raise StartError(f"--cache-limit: {error}") from None

    def _log_folder(self, governors: Governors) -> Path:
        if self.logdir is not None:
            return self.logdir
        if isinstance(governors, BatchGovernors):
            # Jobs run on other machines, which have a temporary folder of their own.
            return Path("rain-logs", f"{socket.gethostname()}-{os.getpid()}")
        return default_log_folder("rain", has_ended)


@frozen
class Order:
    """A whole cluster as somebody has asked for it: in a command, a file or a program."""

    options: StartOptions
    governors: Governors
    reserve_cpu: bool = False
    remote_init: str = ""
    ssh: tuple[str, ...] = USUAL_SSH

    def start(self) -> StartedCluster:
        """Starts it; StartError if it cannot be, and then nothing is left running."""
        return self.options.start(
            self.governors,
            reserve_cpu=self.reserve_cpu,
            remote_init=self.remote_init,
            ssh=self.ssh,
        )


def _whole(path: Path | None) -> Path | None:
    """For daemons, which may work in another folder."""
    return None if path is None else path.resolve()
