"""Finds the server that a command is for: its address, its HTTP side and its secret."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from rain.base.address import (
    DEFAULT_HTTP_PORT,
    DEFAULT_PORT,
    LOOPBACK,
    seen_by_peer,
    spell_address,
    split_address,
)
from rain.base.admission import MemberKind, Role
from rain.base.errors import ConnectionLostError, RefusedError, StartError
from rain.base.leading import Servers
from rain.base.silence import ClientLimits
from rain.base.wire.requests import OverviewOf
from rain.common.secret_file import read_secret
from rain.daemon.addresses import parse_address, parse_addresses
from rain.daemon.exposure import is_loopback, or_user_key
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.dialing import dial_in_thread, dial_in_turn, reaching
from rain.start.choice import left_behind, server_of
from rain.start.clusters import ClusterDescription, Index
from rain.start.plan import NONE
from rain.tls.identity import Identity
from rain.tls.keys import Keys


@frozen
class ReachedServer:
    """A server. `http` is "" if the address of its HTTP side is not known here (`http_of`).

    `cluster` is what the user has started there, if it was started here.
    """

    address: str
    http: str
    keys: Keys
    cluster: ClusterDescription | None = None


def reach(
    index: Index,
    which: str,
    http: str,
    secret_file: Path | None,
    tls: Path | None = None,
    *,
    insecure: bool,
    is_own_key: bool = False,
) -> ReachedServer:
    """The server at an address; without one, of the user's only cluster, or of the usual port.

    A cluster that was started here has its key with it, unless the command line names another one.
    """
    cluster = None if "," in which else server_of(index, which)
    server, known_http = (which, "") if cluster is None else (cluster.addresses, cluster.http)
    if cluster is not None and cluster.secret_file and not is_own_key:
        secret_file = Path(cluster.secret_file)
    if cluster is not None and not is_own_key:
        tls = Path(cluster.tls) if cluster.tls else None
    is_encrypted = tls is not None and tls != NONE and not insecure
    identity = Identity.read(tls, MemberKind.CLIENT) if tls is not None and is_encrypted else None
    secret = None if secret_file is None else read_secret(secret_file)
    addresses = parse_addresses(server, LOOPBACK, DEFAULT_PORT)
    if cluster is None:
        hosts = [host for host, _ in addresses]
        secret = or_user_key(secret, *hosts, insecure=insecure or is_encrypted)
    keys = Keys(secret, identity)
    host, port = _leading(Servers(addresses), keys, cluster)
    if cluster is not None and cluster.standby is not None and known_http:
        known_http = _told_http(cluster, host, port, keys)
    if http:
        known_http = spell_address(*parse_address(http, host, DEFAULT_HTTP_PORT))
    return ReachedServer(spell_address(host, port), known_http, keys, cluster)


def _told_http(
    cluster: ClusterDescription,
    host: str,
    port: int,
    keys: Keys,
) -> str:
    """Where the server that leads serves HTTP, as it says itself: it may be the standby.

    "" if that is only for its own machine, and that is another one.
    """
    address = spell_address(host, port)
    with asking(address, keys) as connection:
        told = http_of(connection, address)
    is_away = any(server.host and server.address == address for server in cluster.servers)
    is_apart = told not in ("", address)
    return "" if is_away and is_apart and is_loopback(split_address(told)[0]) else told


@contextmanager
def asking(address: str, keys: Keys) -> Generator[ClientConnection]:
    """A connection for some questions to a server; `StartError` says why it gives no answer."""
    host, port = split_address(address)
    try:
        connection = ClientConnection(host, port, keys, limits=ClientLimits(server_away=0))
        try:
            yield connection
        finally:
            connection.close()
    except (ConnectionLostError, RefusedError) as error:
        raise StartError(f"the server at {address}: {error}") from error


def http_of(connection: ClientConnection, address: str) -> str:
    """Where the server that was reached at an address serves HTTP, as it says; "" if nowhere."""
    told = connection.ask(OverviewOf()).http
    return seen_by_peer(told, address) if told else ""


def _leading(servers: Servers, keys: Keys, cluster: ClusterDescription | None) -> tuple[str, int]:
    """The only one of them, or the one that lets us in now.

    Where the servers of a cluster have died, somebody may have started another one by hand.
    """
    is_left = cluster is not None and not cluster.has_server
    if not servers.has_several and not is_left:
        return servers.current
    limit = servers.limit(ClientLimits().connect)
    try:
        with reaching(servers.all, "command"):
            dial_in_turn(
                servers,
                lambda: dial_in_thread(*servers.current, limit, Role.CLIENT, keys),
            ).close()
    except StartError as error:
        if cluster is None or not is_left:
            raise
        raise StartError(left_behind(cluster)) from error
    return servers.current
