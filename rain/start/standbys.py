"""Starts the standby of a cluster: a second server that takes over when the leading one has gone.

Both are servers of the same cluster and share its journal. Either of them may lead; to find out,
both are asked.
"""

from __future__ import annotations

import secrets
import shlex
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, frozen

from rain.base.address import DEFAULT_HTTP_PORT, LOOPBACK, spell_address, split_address
from rain.base.admission import MemberKind as Role
from rain.base.admission import Role as Door
from rain.base.errors import ProtocolError, StartError
from rain.base.leading import SHORT_TRY
from rain.common.secret_file import read_secret
from rain.daemon.addresses import parse_address
from rain.daemon.exposure import is_loopback
from rain.daemon.journal_place import usual_place
from rain.rpc.dialing import StandsByHereError, dial_in_thread
from rain.start import processes
from rain.start.children import Child
from rain.start.clusters import ClusterDescription
from rain.start.launch import Launch
from rain.start.plan import NO_HTTP, NONE, PlannedDaemon, Settings, plan_server
from rain.start.remote import RemoteAccess
from rain.stream.errors import UnreachableError
from rain.tls.identity import Identity
from rain.tls.keys import Keys

ANY = "0.0.0.0"
NAME = "standby"
STANDS_BY = ("--standby",)
LEADS, WAITS = "leads", "stands by"


@frozen
class StartedStandby:
    """A standby that waits."""

    child: Child
    address: str  # for its peers
    command: tuple[str, ...]  # starts it again at the same address


def with_journal(settings: Settings) -> Settings:
    """Names the journal if there is to be a standby, which reads it; StartError without any."""
    if settings.standby is None:
        return settings
    journal = settings.journal
    if journal is None and settings.listen_port:
        folder = settings.work_folder
        journal = usual_place(settings.listen_port) if folder is None else folder / "journal"
    if journal is None or journal == NONE:
        raise StartError(
            "a standby reads the journal of the server, and there is none: name a folder for it"
            " with --journal"
        )
    return evolve(settings, journal=journal)


def again(settings: Settings, address: str) -> tuple[str, ...]:
    """The command that starts the server again, at the address at which it listens.

    Where there is a standby, that one may lead by then.
    """
    _, port = split_address(address)
    command = plan_server(evolve(settings, listen_port=port)).command
    return command if settings.standby is None else command + STANDS_BY


def start_standby(
    launch: Launch, settings: Settings, access: RemoteAccess, address: str
) -> StartedStandby | None:
    """Starts the standby of the server at this address, if there is to be one."""
    if settings.standby is None:
        return None
    server_host, server_port = split_address(address)
    if not settings.standby:
        child = launch.local(plan_standby(settings, 0))
        launch.wait_until_ready([child])
        _, port = split_address(child.address)
        command = plan_standby(settings, port).command
        return StartedStandby(child, spell_address(server_host, port), command)
    daemon = plan_standby(settings, server_port)
    with _shared(settings, access) as looking:
        child = launch.remote(daemon, looking, processes.boot())
        launch.wait_until_ready([child])
    host = settings.standby.rpartition("@")[2]
    return StartedStandby(child, spell_address(host, server_port), daemon.command)


def plan_standby(settings: Settings, port: int) -> PlannedDaemon:
    """Plans the standby: a server with the same journal that listens at this port.

    On another machine it cannot listen at addresses of this one. If HTTP has a port of its own, the
    standby on the machine of the server takes another one, whichever is free then.
    """
    assert settings.standby is not None
    http = settings.http_listen
    if http not in ("", NO_HTTP):
        host, http_port = parse_address(http, LOOPBACK, DEFAULT_HTTP_PORT)
        if settings.standby:
            http = spell_address(host if is_loopback(host) else ANY, http_port)
        else:
            http = spell_address(host, 0)
    changed = evolve(settings, listen_port=port, http_listen=http)
    if settings.standby:
        names = (*settings.http_hosts, settings.standby.rpartition("@")[2])
        changed = evolve(changed, listen_host=ANY, advertise="", http_hosts=names)
    planned = plan_server(changed, NAME)
    return evolve(planned, host=settings.standby, arguments=(*planned.arguments, *STANDS_BY))


def look_at_servers(cluster: ClusterDescription) -> dict[str, str]:
    """The states of the server of a cluster and of its standby, by their addresses."""
    identity = Identity.read(Path(cluster.tls), Role.CLIENT) if cluster.tls else None
    secret = read_secret(Path(cluster.secret_file)) if cluster.secret_file else None
    found: dict[str, str] = {}
    for address in cluster.addresses.split(","):
        try:
            dial_in_thread(
                *split_address(address), SHORT_TRY, Door.CLIENT, Keys(secret, identity)
            ).close()
        except StandsByHereError:
            found[address] = WAITS
        except (UnreachableError, ProtocolError):
            found[address] = "does not answer"
        else:
            found[address] = LEADS
    return found


@contextmanager
def _shared(settings: Settings, access: RemoteAccess) -> Generator[RemoteAccess]:
    """Access to the host that also checks that it sees the same journal as this machine.

    A standby that finds another folder would lead a cluster of its own.
    """
    assert settings.journal is not None
    mark = settings.journal / f"shared-{secrets.token_hex(8)}"
    complaint = (
        f"the journal {settings.journal} of {socket.gethostname()} is not on this host: a standby"
        " needs one in a folder that both share (--journal)"
    )
    look = f"[ -e {shlex.quote(str(mark))} ]"
    fail = f"{{ printf 'failed %s\\n' {shlex.quote(complaint)}; exit 1; }}"
    try:
        mark.touch()
    except OSError as error:
        raise StartError(f"{settings.journal} cannot be written: {error.strerror}") from error
    try:
        yield evolve(access, init="\n".join(filter(None, (access.init, f"{look} || {fail}"))))
    finally:
        mark.unlink(missing_ok=True)
