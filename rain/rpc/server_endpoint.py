"""The server's port: connections arrive, say once who they are, and become clients or governors.

A connection registers once and in one role. One that says nothing within the handshake limit is
closed. Streams of data come to the same port and go their own way.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from rain.base.address import seen_from_outside
from rain.base.admission import Role, Secret
from rain.base.errors import ProtocolError
from rain.base.ids import GovernorId
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.rpc import schema
from rain.rpc.codec.amounts import read_resources
from rain.rpc.codec.border import MESSAGE_LIMIT, Builder, Capability, OfferedServer, Reader
from rain.rpc.connection import Connection
from rain.rpc.handlers import GovernorHello, ServerHandler
from rain.rpc.listener import Listener
from rain.rpc.offer import Method, Write, offer
from rain.rpc.patience import Patience
from rain.rpc.pending import PENDING_LIMIT
from rain.rpc.server_client import ServedClient
from rain.rpc.server_governor import ServedGovernor
from rain.rpc.streams import server_streams
from rain.stream.protocol import NOBODY

__all__ = ["Listener", "listen"]

HANDSHAKE_LIMIT = 10.0
"""Seconds within which a connection has to say who it is."""

FIRST_WORDS = 64 * 1024
"""Bytes that it may need for that. Until then nobody knows what it is good for."""

log = logging.getLogger(__name__)


def listen(
    host: str,
    port: int,
    handler: ServerHandler,
    *,
    secret: Secret | None = None,
    handshake_limit: float = HANDSHAKE_LIMIT,
    pending_limit: int = PENDING_LIMIT,
    machine: bytes = NOBODY,
    client_silence: float | None = None,
    patience: Callable[..., Patience] = Patience,
) -> Listener:
    """Listens for clients and governors, at any free port if it is 0; `StartError` if it cannot.

    A peer on the same `machine` reads what the server stores by itself. A client that is silent
    for longer than `client_silence` is closed.
    """

    def greet(connection: Connection, peer_host: str, role: Role) -> None:
        guest = Guest(connection, peer_host, role, handler, pending_limit, client_silence, patience)
        connection.serve(guest.offered())
        guest.expect(handshake_limit)

    return Listener(
        host, port, greet, server_streams(handler, machine, secret), handshake_limit, secret
    )


class Guest:
    """A connection that has not said yet who it is, and what it may say."""

    def __init__(
        self,
        connection: Connection,
        peer_host: str,
        admitted: Role,
        handler: ServerHandler,
        pending_limit: int,
        client_silence: float | None,
        patience: Callable[..., Patience],
    ) -> None:
        self._patience = patience
        self._connection = connection
        self._peer_host = peer_host
        self._admitted = admitted
        self._handler = handler
        self._pending_limit = pending_limit
        self._client_silence = client_silence
        self._role = ""

    def offered(self) -> OfferedServer:
        return offer(
            schema.server.ServerBootstrap,
            self._connection,
            {
                "registerClient": Method(self._read_client, self._register_client),
                "registerGovernor": Method(self._read_governor, self._register_governor),
            },
        )

    def expect(self, limit: float) -> None:
        """Closes the connection unless it has got a role within so many seconds."""
        self._connection.allow(FIRST_WORDS, FIRST_WORDS)
        if self._admitted is Role.GOVERNOR:  # the only ones that are called
            self._connection.check_reasons()
        self._connection.tell_end(self._left)
        timer = asyncio.get_running_loop().call_later(limit, partial(self._judge, limit))
        self._connection.tell_end(lambda _: timer.cancel())

    def _judge(self, limit: float) -> None:
        if not self._role:
            self._connection.end_with_reason(f"nobody has registered within {limit:g} seconds")

    def _read_client(self, params: Reader) -> None:
        self._check_role("client", Role.CLIENT, params.version, CLIENT_VERSION)

    async def _register_client(self, _: None) -> Write:  # async, as all methods
        self._take("client")
        client = ServedClient(self._connection, self._handler, self._pending_limit)
        self._connection.beat(self._client_silence)

        def write(results: Builder) -> None:
            results.service = client.offered()
            results.key = client.key

        return write

    def _read_governor(self, params: Reader) -> tuple[GovernorHello, Capability]:
        version: int = params.version  # first: what another version says next is not known
        self._check_role("governor", Role.GOVERNOR, version, GOVERNOR_VERSION)
        hello = GovernorHello(
            version=version,
            incarnation=_read_incarnation(params.incarnation),
            data_address=seen_from_outside(params.dataAddress, self._peer_host),
            peer_host=self._peer_host,
            resources=read_resources(params.resources),
        )
        return hello, params.control

    async def _register_governor(self, said: tuple[GovernorHello, Capability]) -> Write:
        hello, control = said
        self._take("governor")
        governor = ServedGovernor(self._connection, self._handler, hello, control)
        self._connection.beat()  # who is silent is the reactor's to judge

        def write(results: Builder) -> None:
            results.upstream = governor.offered()
            results.address = governor.address

        return write

    def _take(self, role: str) -> None:
        self._role = role
        self._connection.allow(MESSAGE_LIMIT)
        # A governor that was not heard would be taken for silent, though its link is only slow.
        give_up = self._connection.end_with_reason
        self._connection.bear(self._patience(give_up, makes_wait=role == "client"))

    def _left(self, cause: str) -> None:
        if not self._role:
            log.warning("a peer from %s has not registered: %s", self._peer_host, cause)

    def _check_role(self, role: str, needed: Role, version: int, expected: int) -> None:
        if self._role:
            raise ProtocolError(
                f"this connection is registered as a {self._role} and cannot become a {role}"
            )
        if needed is not self._admitted:
            was = self._admitted.name.lower()
            raise ProtocolError(f"this connection was let in as a {was}, not as a {role}")
        if version != expected:
            raise ProtocolError(
                f"the {role} speaks version {version} of the protocol and this server version"
                f" {expected}: install the same version of Rain on both sides"
            )


def _read_incarnation(number: int) -> GovernorId:
    """Addresses with an incarnation are read again by others, who would not know another sign."""
    if number <= 0:
        raise ProtocolError(f"{number} is no incarnation of a governor: it must be above 0")
    return GovernorId(number)
