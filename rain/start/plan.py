"""Plans the processes of a cluster with their exact command lines from the settings. No I/O."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, frozen

from rain.base.address import (
    DEFAULT_HTTP_PORT,
    DEFAULT_PORT,
    LOOPBACK,
    is_unspecified,
    spell_address,
    split_address,
)
from rain.base.errors import StartError
from rain.daemon.addresses import parse_address
from rain.daemon.exposure import is_loopback
from rain.launchers.surroundings import IN_CONTAINER, NOTHING, Surroundings, wrapped
from rain.start.governors import BatchGovernors, Governors, LocalGovernors, RemoteGovernors, Scale

NONE = Path("none")
NO_HTTP = "none"
ALL_BUT_ONE = "--cpus=-1"
TEMPLATE, SERVER, GOVERNOR = "governors", "server", "governor"


@frozen
class Settings:
    """The settings of a start."""

    governors: Governors
    rain: tuple[str, ...]  # the command that runs this Rain, up to the program name
    log_folder: Path
    listen_host: str = ""  # "" is loopback, or all addresses if governors are on other machines
    listen_port: int = DEFAULT_PORT
    http_listen: str = ""
    http_hosts: tuple[str, ...] = ()  # more names of this machine
    governor_config: Path | None = None
    cache_limit: str | None = None
    journal: Path | None = None
    users: Path | None = None  # the file that says what users may do
    work_folder: Path | None = None
    run_prefix: tuple[str, ...] = ()
    reserve_cpu: bool = False
    secret_file: Path | None = None
    tls: Path | None = None  # the folder of `rain keys`, or "none"
    insecure: bool = False
    scale: Scale | None = None  # for a number of governors that follows the work
    advertise: str = ""  # the name or address of this machine for governors; "" finds it out
    resources: tuple[tuple[str, int], ...] = ()  # more of them, which each governor offers
    around: Surroundings = NOTHING
    of_server: tuple[str, ...] = ()  # more options of the server
    of_governors: tuple[str, ...] = ()  # and of each governor
    folder: Path = Path()  # where governors run
    prefix: str = GOVERNOR  # what their names begin with
    first: int = 0  # the number of the first governor, if the cluster has some already
    neighbours: int = 0  # how many governors of the cluster this machine has already
    standby: str | None = None  # the host of a second server, "" for this machine


@frozen
class PlannedDaemon:
    """One process of the cluster."""

    name: str
    program: tuple[str, ...]
    log_folder: Path  # of the cluster
    host: str = ""  # "" is this machine
    work_folder: Path | None = None
    beside_server: tuple[str, ...] = ()  # further arguments if its host is the server's host
    arguments: tuple[str, ...] = ()
    around: Surroundings = NOTHING
    first: str = ""  # shell commands before it, if nobody else runs them
    folder: Path = Path()  # where it runs

    @property
    def command(self) -> tuple[str, ...]:
        return wrapped(
            (*self.program, *self.arguments),
            self.around,
            self.name,
            first=self.first,
            folder=self.folder,
            log_folder=self.log_folder,
        )

    @property
    def output(self) -> Path:
        return self.log_folder / f"{self.name}.out"

    @property
    def errors(self) -> Path:
        return self.log_folder / f"{self.name}.err"


def run_rain(python: str, checkout: Path, here: Path) -> tuple[str, ...]:
    """The command that runs this Rain from the folder `here`.

    Python would search for modules first in the current folder, where files of the user may have
    the names of other modules. That is disabled unless Rain itself is imported from there.
    """
    safely = () if checkout == here else ("-P",)
    return (python, *safely, "-m", "rain")


def plan_server(settings: Settings, name: str = SERVER) -> PlannedDaemon:
    """Plans the server, or another one of the cluster with a name of its own."""
    local = isinstance(settings.governors, LocalGovernors)
    host = settings.listen_host or (LOOPBACK if local else "0.0.0.0")
    arguments = ["server", "--listen", spell_address(host, settings.listen_port)]
    if settings.http_listen:
        arguments += ["--http-listen", settings.http_listen]
    named = (settings.advertise,) if settings.advertise else ()
    for known_as in (*settings.http_hosts, *named):
        arguments += ["--http-host", known_as]
    journal = _journal(settings)
    if journal is not None:
        arguments += ["--journal", str(journal)]
    if settings.users is not None:
        arguments += ["--users", str(settings.users)]
    if settings.work_folder is not None:
        arguments += ["--workdir", str(settings.work_folder / name)]
    arguments += settings.of_server
    return _daemon(settings, name, arguments, work_folder=settings.work_folder)


def may_return(settings: Settings) -> bool:
    """Whether the server has a journal: then its governors and clients wait when it has died."""
    if settings.journal is not None:
        return settings.journal != NONE
    return settings.listen_port != 0


def _journal(settings: Settings) -> Path | None:
    """Where the journal is; None lets the server choose.

    Large constants are in it, so it is on the disk that the user has named for large data.
    """
    if settings.journal is None and settings.work_folder is not None and settings.listen_port:
        return settings.work_folder / "journal"
    return settings.journal


def plan_template(settings: Settings) -> PlannedDaemon | None:
    """Plans the template of the governors of this machine; None if it is not used.

    A run prefix applies to each governor, and so does what is around it: each is then a program of
    its own.
    """
    is_plain = not settings.run_prefix and settings.around == NOTHING
    if not is_plain or not isinstance(settings.governors, LocalGovernors):
        return None
    if settings.scale is not None:  # the scaler starts them
        return None
    return PlannedDaemon(TEMPLATE, settings.rain, settings.log_folder)


def plan_governors(settings: Settings, server: str) -> tuple[PlannedDaemon, ...]:
    """Plans the governors for a server at this address."""
    governors, first = settings.governors, settings.first
    if settings.scale is not None:
        return ()  # the scaler starts them
    if isinstance(governors, LocalGovernors):
        several = settings.neighbours + len(governors.cpus)
        return tuple(
            _local_governor(settings, server, number, cpus, several)
            for number, cpus in enumerate(governors.cpus, settings.neighbours)
        )
    if isinstance(governors, RemoteGovernors):
        return tuple(
            _remote_governor(settings, server, number, host)
            for number, host in enumerate(governors.hosts, first)
        )
    return tuple(
        _job_governor(settings, governors, server, number)
        for number in range(first, first + governors.count)
    )


def _local_governor(
    settings: Settings, server: str, place: int, cpus: int | None, several: int
) -> PlannedDaemon:
    """The governor at a place among those of this machine."""
    if cpus is not None:
        if settings.reserve_cpu:
            raise StartError(
                "-S and --local-governors cannot be combined: the list already says how many cpus"
                " each governor has"
            )
        amount = [f"--cpus={cpus}"]
    else:
        amount = [ALL_BUT_ONE] if settings.reserve_cpu else []
    if several > 1:  # they share the memory and the gpus of the machine
        amount.append(f"--share={place}/{several}")
    number = settings.first + place - settings.neighbours
    planned = _governor(settings, number, ["governor", server, *amount])
    return evolve(planned, first=settings.around.first)


def _remote_governor(settings: Settings, server: str, number: int, host: str) -> PlannedDaemon:
    return _governor(
        settings,
        number,
        ["governor", server, "--listen", "0.0.0.0:0"],
        host,
        (ALL_BUT_ONE,) if settings.reserve_cpu else (),
    )


def _job_governor(
    settings: Settings, governors: BatchGovernors, server: str, number: int
) -> PlannedDaemon:
    amounts: list[str] = []
    if governors.cpus is not None:
        amounts.append(f"--cpus={governors.cpus}")
    if governors.memory is not None:
        amounts.append(f"--memory={governors.memory}")
    if governors.gpus is not None:
        amounts.append(f"--gpus={governors.gpus}")
    return _governor(settings, number, ["governor", server, "--listen", "0.0.0.0:0", *amounts])


def _governor(
    settings: Settings,
    number: int,
    arguments: list[str],
    host: str = "",
    beside_server: tuple[str, ...] = (),
) -> PlannedDaemon:
    name = f"{settings.prefix}-{number}"
    for resource, amount in settings.resources:
        arguments += ["--resource", f"{resource}={amount}"]
    if settings.governor_config is not None:
        arguments += ["--config", str(settings.governor_config)]
    if settings.cache_limit is not None:
        arguments += ["--cache-limit", settings.cache_limit]
    arguments += settings.of_governors
    work_folder = None if settings.around.scratch else settings.work_folder
    if work_folder is not None:
        arguments += ["--workdir", str(work_folder / name)]
    planned = _daemon(settings, name, arguments, host, work_folder, beside_server)
    rain = IN_CONTAINER if settings.around.container else settings.rain
    program = (*settings.run_prefix, *rain)
    return evolve(planned, program=program, around=settings.around, folder=settings.folder)


def _daemon(
    settings: Settings,
    name: str,
    arguments: list[str],
    host: str = "",
    work_folder: Path | None = None,
    beside_server: tuple[str, ...] = (),
) -> PlannedDaemon:
    if settings.insecure:
        arguments += ["--insecure"]
    elif settings.secret_file is not None and not host:  # else it goes through the ssh session
        arguments += ["--secret-file", str(settings.secret_file)]
    if settings.tls is not None and (not host or settings.tls == NONE):
        arguments += ["--tls", str(settings.tls)]
    return PlannedDaemon(
        name,
        (*settings.run_prefix, *settings.rain),
        settings.log_folder,
        host,
        work_folder,
        beside_server,
        (*arguments, "--logdir", str(settings.log_folder / name)),
    )


def seen_from_governors(listening: str, own_host: str) -> str:
    """The address under which governors reach the server, given its listening address."""
    host, port = split_address(listening)
    return spell_address(own_host, port) if is_unspecified(host) else listening


def is_encrypted(settings: Settings) -> bool:
    """Whether the links of the cluster are encrypted."""
    return not settings.insecure and settings.tls is not None and settings.tls != NONE


def needs_secret(settings: Settings) -> bool:
    """Whether other machines can reach any port of the cluster, and nothing is encrypted."""
    if is_encrypted(settings):
        return False
    if not isinstance(settings.governors, LocalGovernors):
        return True
    hosts = [settings.listen_host or LOOPBACK]
    if settings.http_listen not in ("", NO_HTTP):
        hosts.append(parse_address(settings.http_listen, LOOPBACK, DEFAULT_HTTP_PORT)[0])
    return not all(is_loopback(host) for host in hosts)


def check_reach(server_host: str, hosts: tuple[str, ...], own_names: frozenset[str]) -> None:
    """Refuses a server on loopback if governors on other machines must reach it."""
    if not is_loopback(server_host):
        return
    for host in hosts:
        machine = host.rpartition("@")[2]
        if not is_loopback(machine) and machine not in own_names:
            raise StartError(
                f"the governor on {host} cannot reach a server that listens at {server_host}:"
                " it needs --listen 0.0.0.0, or an address that other machines reach"
            )
