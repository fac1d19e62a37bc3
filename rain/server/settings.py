"""The settings of the server program from its command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from attrs import Factory, frozen

from rain.base.address import DEFAULT_HTTP_PORT, DEFAULT_PORT, LOOPBACK, SAME
from rain.base.admission import Secret
from rain.daemon.addresses import parse_address
from rain.daemon.readiness import Readiness
from rain.scheduler import DEFAULT
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.history.retention import Keep

if TYPE_CHECKING:
    from rain.tls.identity import Identity

LEASE_SECONDS = 5.0


Address: TypeAlias = tuple[str, int]
"""A host and a port; port 0 picks a free one."""


@frozen
class HttpSettings:
    """Where HTTP is served, and as whom."""

    own_port: Address | None = None  # for HTTP alone; None: the server's port
    names: tuple[str, ...] = ()  # of this machine, besides its own
    identity: Identity | None = None  # for HTTPS

    def reached_at(self, address: str) -> str:
        """The address of HTTP as peers of the server get it."""
        return SAME if self.own_port is None else address


def http_settings(
    listen: Address, wanted: str, names: tuple[str, ...], identity: Identity | None
) -> HttpSettings | None:
    """HTTP as `--http-listen` wants it, "" if that is not said; the server listens at `listen`."""
    if wanted == "none":
        return None
    if not wanted:
        return HttpSettings(None, (*names, listen[0]), identity)
    own = parse_address(wanted, LOOPBACK, DEFAULT_HTTP_PORT)
    is_same = own == listen and own[1] != 0
    return HttpSettings(None if is_same else own, (*names, own[0]), identity)


@frozen
class ServerSettings:
    """The settings of a server, which listens on loopback by default."""

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    secret: Secret | None = None
    identity: Identity | None = None  # None: nothing is encrypted
    scheduler: str = DEFAULT
    log_folder: Path | None = None
    log_level: str = "info"
    readiness: Readiness = Factory(Readiness)
    parent_fd: int | None = None
    work_folder: Path | None = None  # None for a new one below the temporary folder
    record: Path | None = None
    journal: Path | None = None  # where the server writes what it needs to come back
    standby: bool = False  # wait there while another server leads the cluster
    lease: str = ""  # where it is kept: a URL, or "" for the folder of the journal
    lease_seconds: float = LEASE_SECONDS  # without a heartbeat, after which a standby takes over
    event_log: bool = True
    event_log_objects: bool = False
    event_log_keep: Keep = Factory(Keep)
    client_silence: float | None = None  # seconds after which a client is given up; None: never
    http: HttpSettings | None = Factory(HttpSettings)
    on_demand: bool = False  # event log and HTTP begin when a client asks for the dashboard
    users: Path | None = None  # the file that says what users may do
    reactor: ReactorSettings = Factory(ReactorSettings)
