"""The options of every start of a cluster, whatever governors it has; checked here."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TypeAlias, cast

from attrs import evolve, field, frozen

import rain
from rain.base.address import DEFAULT_PORT
from rain.base.errors import StartError
from rain.base.resources import read_named
from rain.base.sizes import parse_size
from rain.daemon.addresses import parse_address
from rain.daemon.folders import default_log_folder
from rain.launchers.surroundings import Surroundings, read_scratch
from rain.start.add import Added, add_governors, add_kind, has_jobs
from rain.start.clusters import ClusterDescription, has_ended, read_cluster, user_index
from rain.start.ending import GRACE
from rain.start.governors import SSH, BatchGovernors, Governors, LocalGovernors, Scale
from rain.start.plan import GOVERNOR, NONE, Settings, run_rain
from rain.start.remote import RemoteAccess
from rain.start.start import StartedCluster, start_cluster
from rain.start.stop import stop_cluster

AnyPath: TypeAlias = str | PathLike[str]
Environment: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
USUAL_SSH = tuple(SSH.split())


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


def _pairs(given: Environment) -> tuple[tuple[str, str], ...]:
    if isinstance(given, Mapping):
        return tuple(cast("Mapping[str, str]", given).items())
    return tuple(given)


def _amounts(
    given: Mapping[str, int] | Iterable[tuple[str, int]],
) -> tuple[tuple[str, int], ...]:
    pairs = cast("Mapping[str, int]", given).items() if isinstance(given, Mapping) else given
    try:
        return tuple([read_named(f"{name}={amount}") for name, amount in pairs])
    except ValueError as error:
        raise StartError(f"resource {error}") from None


def _tuple(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


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
    users: Path | None = field(default=None, converter=_path)
    standby: bool = False
    standby_host: str = ""
    timeout: float = 60.0
    runprefix: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    resources: tuple[tuple[str, int], ...] = field(default=(), converter=_amounts)
    env: tuple[tuple[str, str], ...] = field(default=(), converter=_pairs)
    container: str = ""
    container_options: tuple[str, ...] = field(default=(), converter=_tuple)
    scratch: str = field(default="", converter=read_scratch)
    of_server: tuple[str, ...] = ()  # more options of `rain server`, in words of its command line
    of_governors: tuple[str, ...] = ()  # the same for each `rain governor`

    @property
    def listen_host(self) -> str:
        """The host of the server's address, if the user has named one."""
        return parse_address(self.listen, "", DEFAULT_PORT)[0]

    @property
    def around(self) -> Surroundings:
        """The variables, commands and container of each governor."""
        return Surroundings(
            self.before,
            self.after,
            self.env,
            self.container,
            self.container_options,
            self.scratch,
        )

    def check(self) -> None:
        """StartError for what cannot be right, before anything is started."""
        if self.governor_config is not None and not self.governor_config.is_file():
            raise StartError(f"--governor-config {self.governor_config} is not a file")
        if self.cache_limit is not None:
            try:
                parse_size(self.cache_limit)
            except ValueError as error:
                raise StartError(f"--cache-limit: {error}") from None

        if self.standby and self.standby_host:
            raise StartError("--standby is on this machine, and --standby-host on another one")
        if self.scratch and self.workdir is not None:
            raise StartError(
                "--scratch and --workdir cannot be combined: both say where governors keep data"
            )
        if self.container and self.workdir is not None:
            raise StartError("--container and --workdir cannot be combined: use --scratch")
        if self.container_options and not self.container:
            raise StartError("--container-options need a --container")

    def log_folder(self, governors: Governors) -> Path:
        """The folder of all logs."""
        if self.logdir is not None:
            return self.logdir
        if isinstance(governors, BatchGovernors):
            return shared_log_folder()
        return default_log_folder("rain", has_ended)


@frozen
class StartRequest:
    """A request for a cluster or for more governors, from a command, a file or a program."""

    options: StartOptions
    governors: Governors
    reserve_cpu: bool = False
    remote_init: str = ""
    ssh: tuple[str, ...] = USUAL_SSH
    scale: Scale | None = None

    kinds: tuple[StartRequest, ...] = ()  # more governors of other kinds

    def start(self) -> StartedCluster:
        """Starts it; StartError if it cannot be, and then nothing is left running."""
        for order in (self, *self.kinds):
            order.check()
        folder = self.options.log_folder(self.governors).absolute()
        index = user_index()
        started = start_cluster(self._settings(folder), self._access, self.options.timeout, index)
        if not self.kinds:
            return started
        with ExitStack() as undone:
            undone.callback(stop_cluster, started.cluster, index, GRACE)
            for order in self.kinds:
                order.add_to(started.cluster)
            undone.pop_all()
        return evolve(started, cluster=read_cluster(folder) or started.cluster)

    def check(self) -> None:
        """StartError for what cannot be right, before anything is started."""
        wait = self.governors.wait if isinstance(self.governors, BatchGovernors) else 0
        if wait and self.scale is not None:
            raise StartError("--wait and --max cannot be combined: tasks bring the governors")
        self.options.check()

    def add_to(self, cluster: ClusterDescription) -> Added:
        """Adds the governors to a cluster that runs."""
        self.check()
        if self.kinds:
            raise StartError(
                "a file with several kinds is for 'rain start': add each kind by itself"
            )
        # Jobs of batch systems see the logs of a cluster only if it has other jobs already.
        away = isinstance(self.governors, BatchGovernors) and not has_jobs(cluster)
        folder = shared_log_folder().absolute() if away else cluster.log_folder
        settings, timeout = self._settings(folder), self.options.timeout
        if self.scale is not None:
            return add_kind(cluster, settings, self._access, timeout)
        return add_governors(cluster, settings, self._access, timeout)

    def _settings(self, log_folder: Path) -> Settings:
        options = self.options
        if options.standby_host and isinstance(self.governors, LocalGovernors):
            raise StartError(
                "--standby-host is for clusters that other machines reach: with governors on this"
                " machine alone, use --standby"
            )
        host, port = parse_address(options.listen, "", DEFAULT_PORT)
        return Settings(
            governors=self.governors,
            rain=_program(),
            log_folder=log_folder,
            listen_host=host,
            listen_port=port,
            http_listen=options.http_listen,
            http_hosts=options.http_hosts,
            governor_config=_whole(options.governor_config),
            cache_limit=options.cache_limit,
            users=_whole(options.users),
            journal=options.journal if options.journal == NONE else _whole(options.journal),
            work_folder=_whole(options.workdir),
            run_prefix=options.runprefix,
            reserve_cpu=self.reserve_cpu,
            secret_file=_whole(options.secret_file),
            tls=options.tls
            if options.tls is None or options.tls == NONE
            else options.tls.absolute(),
            insecure=options.insecure,
            advertise=options.advertise,
            resources=options.resources,
            around=options.around,
            of_server=options.of_server,
            of_governors=options.of_governors,
            folder=Path.cwd(),
            scale=self.scale,
            prefix=(self.scale.kind if self.scale is not None else "") or GOVERNOR,
            standby=options.standby_host or ("" if options.standby else None),
        )

    @property
    def _access(self) -> RemoteAccess:
        first = "\n".join(part for part in (self.options.around.first, self.remote_init) if part)
        return RemoteAccess(self.ssh, Path.cwd(), first, _program())


def shared_log_folder() -> Path:
    """For jobs, which run on machines that have a temporary folder of their own."""
    return Path("rain-logs", f"{socket.gethostname()}-{os.getpid()}")


def _program() -> tuple[str, ...]:
    return run_rain(sys.executable, Path(rain.__file__).resolve().parent.parent, Path.cwd())


def _whole(path: Path | None) -> Path | None:
    """For daemons, which may work in another folder."""
    return None if path is None else path.resolve()
