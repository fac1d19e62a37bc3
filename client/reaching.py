"""Which cluster a client is for: what the arguments of `Client` mean, or why they mean none.

There are three ways: a server that runs already, a cluster that is started for this client alone,
and one in this process.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from rain.base.address import part_address
from rain.base.admission import TLS_FILE, Member, Secret
from rain.base.errors import StartError
from rain.base.resources import checked_amount
from rain.base.silence import AWAY_LIMIT, SILENCE_LIMIT
from rain.client.connection import Connection, connect
from rain.client.environments import Env
from rain.client.housekeeper import Closable
from rain.client.kept_results import KeptResults
from rain.client.local import LocalCluster
from rain.common.errors import RainException
from rain.common.secret_file import read_secret, secret_from_environment
from rain.daemon.exposure import or_user_key

if TYPE_CHECKING:
    from rain.tls.identity import Identity

log = logging.getLogger("rain.client")

DEFAULT_PORT = 7210


@frozen
class Reached:
    """A connection to a server, and what is known of that."""

    connection: Connection
    cluster: Closable | None = None  # that was started for this client
    secret: Secret | None = None  # of the cluster
    is_encrypted: bool = False
    kept_results: KeptResults | None = None


def reach(
    address: str | Sequence[str],
    port: int | str | None,
    *,
    cpus: int | None,
    governors: int,
    folder: str | PathLike[str] | None,
    cache_limit: int | str | None,
    secret: str | bytes | None,
    secret_file: str | PathLike[str] | None,
    tls: str | PathLike[str] | None,
    server_timeout: float,
    server_away: float,
    wait_for_server: float,
    insecure: bool,
    local: bool,
    env: Env | None,
) -> Reached:
    """The cluster that the arguments of `Client` mean; RainException if they contradict."""
    if local:
        refuse_in_local_mode(
            address=bool(address),
            port=port is not None,
            governors=governors != 1,
            folder=folder is not None,
            cache_limit=cache_limit is not None,
            secret=secret is not None,
            secret_file=secret_file is not None,
            tls=tls is not None,
            server_timeout=server_timeout != SILENCE_LIMIT,
            server_away=server_away != AWAY_LIMIT,
            wait_for_server=wait_for_server != 0.0,
            insecure=insecure,
            env=env is not None,
        )
        return start_here(cpus)
    check_address(address, port)
    if address:
        own = (cpus, folder, cache_limit)
        if governors != 1 or any(given is not None for given in own):
            raise RainException(
                "cpus, governors, folder and cache_limit describe the embedded cluster; a"
                " server that runs already has its own"
            )
        return reach_server(
            hosts_and_ports(address, port),
            secret=secret,
            secret_file=secret_file,
            tls=tls,
            insecure=insecure,
            server_timeout=server_timeout,
            server_away=server_away,
            wait=wait_for_server,
        )
    if wait_for_server:
        raise RainException("the embedded cluster starts now: leave wait_for_server out")
    if secret is not None or secret_file is not None:
        raise RainException("the embedded cluster makes a secret of its own")
    if tls is not None:
        raise RainException(
            "the embedded cluster is reached by this program only, and encrypts nothing:"
            " leave tls out"
        )
    return start_cluster(
        cpus=cpus,
        governors=governors,
        folder=folder,
        cache_limit=cache_limit,
        server_timeout=server_timeout,
        server_away=server_away,
    )


def reach_server(
    addresses: Sequence[tuple[str, int]],
    *,
    secret: str | bytes | None,
    secret_file: str | PathLike[str] | None,
    tls: str | PathLike[str] | None,
    insecure: bool,
    server_timeout: float,
    server_away: float,
    wait: float,
) -> Reached:
    """Connects to a server that runs already, or to the standby that has taken over from it.

    It waits that many seconds until there is one.
    """
    identity = _chosen_identity(tls, insecure=insecure)
    is_encrypted = identity is not None
    hosts = [host for host, _ in addresses]
    key = _chosen_secret(hosts, secret, secret_file, insecure=insecure, encrypted=is_encrypted)
    (host, port), *standbys = addresses
    connection = connect(
        host,
        port,
        key,
        server_timeout,
        away_limit=server_away,
        identity=identity,
        wait=wait,
        standbys=standbys,
    )
    return Reached(connection, None, key, is_encrypted=is_encrypted)


def start_cluster(
    *,
    cpus: int | None,
    governors: int,
    folder: str | PathLike[str] | None,
    cache_limit: int | str | None,
    server_timeout: float,
    server_away: float,
) -> Reached:
    """Starts a cluster on this machine for one client."""
    limit = _limiting(cache_limit)
    with ExitStack() as undoing:
        kept = None
        if folder is not None:
            kept = KeptResults(folder)
            undoing.callback(kept.close)
        cluster = LocalCluster(cpus, governors, governor_options=limit)
        undoing.callback(cluster.close)
        connection = connect(
            cluster.host,
            cluster.port,
            cluster.secret,
            server_timeout,
            cluster.why_lost,
            server_away,
        )
        cluster.watch(connection.give_up)
        undoing.pop_all()
    return Reached(connection, cluster, cluster.secret, kept_results=kept)


def start_here(cpus: int | None) -> Reached:
    """The cluster of local mode, in this process."""
    # The reactors of a server and a governor: nobody else needs them here.
    from rain.local import starting  # noqa: PLC0415

    cluster = starting.start_here(cpus)
    return Reached(cluster.connect(), cluster)


def refuse_in_local_mode(**given: bool) -> None:
    """RainException when options were given that mean nothing there."""
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise RainException(
            f"local=True runs everything in this process: leave {' and '.join(names)} out, or"
            " leave local out"
        )


def _limiting(cache_limit: int | str | None) -> tuple[str, ...]:
    """The options of governors whose cache is limited to this size."""
    if cache_limit is None:
        return ()
    try:
        return "--cache-limit", str(checked_amount("memory", cache_limit))
    except ValueError as error:
        raise RainException(f"cache_limit: {error}") from None


def _chosen_secret(
    hosts: Sequence[str],
    secret: str | bytes | None,
    secret_file: str | PathLike[str] | None,
    *,
    insecure: bool,
    encrypted: bool = False,
) -> Secret | None:
    """The secret that the arguments mean, or the one of this user for a server of this machine."""
    if insecure:
        if secret is not None or secret_file is not None:
            raise RainException("insecure=True means that there is no secret: leave it out")
        return None
    if secret is not None and secret_file is not None:
        raise RainException("secret and secret_file say the same thing: give one of them")
    try:
        if secret is not None:
            return Secret.of(secret)
        if secret_file is not None:
            return read_secret(Path(secret_file))
        return or_user_key(secret_from_environment(os.environ), *hosts, insecure=encrypted)
    except (ValueError, StartError) as error:
        raise RainException(str(error)) from None


def _chosen_identity(tls: str | PathLike[str] | None, *, insecure: bool) -> Identity | None:
    """The certificate that the arguments mean, or None if nothing is encrypted."""
    named = os.environ.get(TLS_FILE, "") if tls is None else os.fspath(tls)
    if insecure:
        if tls is not None:
            raise RainException("insecure=True means that nothing is encrypted: leave tls out")
        return None
    if not named or named == "none":
        return None
    # It brings the ssl module along.
    from rain.tls.identity import Identity  # noqa: PLC0415

    try:
        identity = Identity.read(Path(named), Member.CLIENT)
    except StartError as error:
        raise RainException(str(error)) from None
    warning = identity.warning(time.time())
    if warning:
        log.warning(warning)
    return identity


def check_address(address: object, port: object) -> None:
    """A port alone, as the address or without one, would be taken for something else."""
    parts: Sequence[object] = address if isinstance(address, list | tuple) else (address,)
    if not parts:
        raise RainException("the list of addresses is empty: name the server and its standbys")
    if not all(isinstance(part, str) for part in parts):
        raise RainException(
            f'the address is {address!r}; write Client("localhost", 7210) or'
            ' Client("localhost:7210") for a server that runs already'
        )
    if port is not None and not address:
        raise RainException(
            f"there is a port ({port}) and no address: write"
            f' Client("localhost", {port}) for a server that runs already on this machine'
        )


def host_and_port(address: str, port: int | str | None) -> tuple[str, int]:
    """The address of the server; RainException if the port was given twice."""
    try:
        host, said = part_address(address)
    except ValueError as error:
        raise RainException(str(error)) from None
    if not said:
        return host, _checked_port(DEFAULT_PORT if port is None else port)
    if port is not None:
        raise RainException(f"the port is said twice: in {address!r}, and as {port!r}")
    return host, _checked_port(said)


def hosts_and_ports(address: str | Sequence[str], port: int | str | None) -> list[tuple[str, int]]:
    """The addresses of the server and its standbys, which text has with commas between them."""
    parts = address.split(",") if isinstance(address, str) else address
    return [host_and_port(part.strip(), port) for part in parts]


def _checked_port(port: int | str) -> int:
    try:
        number = int(port)
    except ValueError:
        number = -1
    if not 0 < number < 2**16:
        raise RainException(f"{port!r} is not a port: use a number from 1 to 65535")
    return number
