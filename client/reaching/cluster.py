"""Finds or starts the cluster that the arguments of `Client` mean; refuses arguments that
contradict.

There are three ways: a server that runs already, a cluster that is started for this client alone,
and one in this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from typing import TYPE_CHECKING, cast

from attrs import evolve, fields, frozen

from rain.base.admission import Secret
from rain.base.resources import CPUS, GPUS, MEMORY, checked_amount
from rain.base.silence import ClientLimits
from rain.client.connection import Connection, connect
from rain.client.environments import Env
from rain.client.housekeeper import Closable
from rain.client.kept_results import KeptResults
from rain.client.local import LocalCluster
from rain.client.reaching.addresses import check_address, hosts_and_ports
from rain.client.reaching.credentials import Credentials
from rain.common.errors import RainException
from rain.tls.keys import Keys

if TYPE_CHECKING:
    from rain.stream.watching import TransferWatch


@frozen
class Reached:
    """A connection to a server, and what is known of that."""

    connection: Connection
    cluster: Closable | None = None  # that was started for this client
    secret: Secret | None = None  # of the cluster
    is_encrypted: bool = False
    kept_results: KeptResults | None = None


@frozen
class Embedded:
    """The cluster that is started for a client, as the arguments of `Client` describe it."""

    cpus: int | None = None
    governors: int = 1
    folder: str | PathLike[str] | None = None
    cache_limit: int | str | None = None
    memory: int | str | None = None
    resources: Mapping[str, int] | None = None
    scheduler: str | None = None


def reach(
    address: str | Sequence[str],
    port: int | str | None,
    embedded: Embedded,
    credentials: Credentials,
    limits: ClientLimits,
    watch: TransferWatch | None = None,
) -> Reached:
    """The cluster that the arguments of `Client` mean; RainException if they contradict."""
    check_address(address, port)
    if address:
        if embedded != Embedded():
            raise RainException(
                f"{' and '.join(_given(embedded))} would describe a cluster that starts now; the"
                " server that runs already has its own"
            )
        return reach_server(hosts_and_ports(address, port), credentials, limits, watch)
    if limits.wait_for_server:
        raise RainException("the embedded cluster starts now: leave wait_for_server out")
    if credentials.secret is not None or credentials.secret_file is not None:
        raise RainException("the embedded cluster makes a secret of its own")
    if credentials.tls is not None:
        raise RainException(
            "the embedded cluster is reached by this program only, and encrypts nothing:"
            " leave tls out"
        )
    return start_cluster(embedded, limits, watch)


def reach_server(
    addresses: Sequence[tuple[str, int]],
    credentials: Credentials,
    limits: ClientLimits,
    watch: TransferWatch | None = None,
) -> Reached:
    """Connects to a server that runs already, or to the standby that has taken over from it."""
    identity = credentials.choose_identity()
    is_encrypted = identity is not None
    hosts = [host for host, _ in addresses]
    key = credentials.choose_secret(hosts, encrypted=is_encrypted)
    connection = connect(addresses, Keys(key, identity), limits, watch=watch)
    return Reached(connection, None, key, is_encrypted=is_encrypted)


def start_cluster(
    embedded: Embedded, limits: ClientLimits, watch: TransferWatch | None = None
) -> Reached:
    """Starts a cluster on this machine for one client."""
    of_governors, of_server = _offered(embedded), _planned(embedded.scheduler)
    with ExitStack() as undoing:
        kept = None
        if embedded.folder is not None:
            kept = KeptResults(embedded.folder)
            undoing.callback(kept.close)
        cluster = LocalCluster(
            embedded.cpus,
            embedded.governors,
            governor_options=of_governors,
            server_options=of_server,
        )
        undoing.callback(cluster.close)
        address = (cluster.host, cluster.port)
        keys = Keys(cluster.secret)
        connection = connect([address], keys, limits, why_lost=cluster.why_lost, watch=watch)
        cluster.watch(connection.give_up)
        undoing.pop_all()
    return Reached(connection, cluster, cluster.secret, kept_results=kept)


def reach_here(
    address: str | Sequence[str],
    port: int | str | None,
    embedded: Embedded,
    *options: Credentials | ClientLimits,
    env: Env | None,
) -> Reached:
    """The cluster of local mode, in this process; RainException for what means nothing there."""
    given = ["address"] if address else []
    given += ["port"] if port is not None else []
    for chosen in (evolve(embedded, cpus=None), *options):
        given += _given(chosen)
    given += ["env"] if env is not None else []
    if given:
        raise RainException(
            f"local=True runs everything in this process: leave {' and '.join(given)} out, or"
            " leave local out"
        )
    # The reactors of a server and a governor: nobody else needs them here.
    from rain.local import starting  # noqa: PLC0415

    cluster = starting.start_here(embedded.cpus)
    return Reached(cluster.connect(), cluster)


def _given(options: Embedded | Credentials | ClientLimits) -> list[str]:
    """The options that are not as they are by default."""
    known = fields(type(options))
    return [field.name for field in known if getattr(options, field.name) != field.default]


def _offered(embedded: Embedded) -> tuple[str, ...]:
    """The arguments of each governor for its cache, its memory and its other resources."""
    words: list[str] = []
    for name, size in (("cache_limit", embedded.cache_limit), ("memory", embedded.memory)):
        if size is None:
            continue
        try:
            words += [f"--{name.replace('_', '-')}", str(checked_amount("memory", size))]
        except ValueError as error:
            raise RainException(f"{name}: {error}") from None
    return *words, *_resources_offered(embedded.resources)


def _resources_offered(resources: object) -> tuple[str, ...]:
    """The arguments of each governor for its gpus and for resources with other names."""
    if resources is None:
        return ()
    if not isinstance(resources, Mapping):
        raise RainException(f'resources is {resources!r}; write for instance {{"licence": 2}}')
    words: list[str] = []
    for name, amount in cast("Mapping[str, object]", resources).items():
        if name in (CPUS, MEMORY):
            raise RainException(f"resources: {name} has an argument of its own, {name}={amount!r}")
        try:
            number = checked_amount(name, amount)
        except ValueError as error:
            raise RainException(f"resources: {error}") from None
        words += ["--gpus", str(number)] if name == GPUS else ["--resource", f"{name}={number}"]
    return tuple(words)


def _planned(scheduler: object) -> tuple[str, ...]:
    """The arguments of the server for its scheduler."""
    if scheduler is None:
        return ()
    if not isinstance(scheduler, str):
        raise RainException(
            f"scheduler is {scheduler!r}; it must be a name or 'FILE.py:CLASS', because the server"
            " is a process of its own"
        )
    return "--scheduler", scheduler
