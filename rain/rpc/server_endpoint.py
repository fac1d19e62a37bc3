"""The server's port: connections arrive, say once who they are, and become clients or governors.

A connection registers once and in one role. One that says nothing within the handshake limit is
closed. Streams of data come to the same port and go their own way.
"""

import asyncio
from functools import partial

from rain.base.address import seen_from_outside
from rain.base.admission import Role, Secret
from rain.base.errors import ProtocolError
from rain.base.ids import GovernorId
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.rpc import schema
from rain.rpc.codec.amounts import read_resources
from rain.rpc.codec.border import CallContext, OfferedServer, reading
from rain.rpc.connection import Connection
from rain.rpc.handlers import GovernorHello, ServerHandler
from rain.rpc.listener import Listener
from rain.rpc.offer import offer
from rain.rpc.pending import PENDING_LIMIT
from rain.rpc.server_client import ServedClient
from rain.rpc.server_governor import ServedGovernor
from rain.rpc.streams import server_streams
from rain.stream.protocol import NOBODY

__all__ = ["Listener", "listen"]

HANDSHAKE_LIMIT = 10.0
"""Seconds within which a connection has to say who it is."""


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
) -> Listener:
    """Listens for clients and governors, at any free port if it is 0; `StartError` if it cannot.

    Whoever is on the same `machine` reads what the server stores by itself. A client that is silent
    for longer than `client_silence` is closed.
    """

    def greet(connection: Connection, peer_host: str, role: Role) -> None:
        guest = Guest(connection, peer_host, role, handler, pending_limit, client_silence)
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
    ) -> None:
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
                "registerClient": self._register_client,
                "registerGovernor": self._register_governor,
            },
        )

    def expect(self, limit: float) -> None:
        """Closes the connection unless it has got a role within so many seconds."""
        timer = asyncio.get_running_loop().call_later(limit, partial(self._judge, limit))
        self._connection.tell_end(lambda _: timer.cancel())

    def _judge(self, limit: float) -> None:
        if not self._role:
            self._connection.end_with_reason(f"nobody has registered within {limit:g} seconds")

    async def _register_client(self, context: CallContext) -> None:
        self._take_role("client", Role.CLIENT, context.params.version, CLIENT_VERSION)
        client = ServedClient(self._connection, self._handler, self._pending_limit)
        context.results.service = client.offered()
        context.results.key = client.key
        self._connection.beat(self._client_silence)

    async def _register_governor(self, context: CallContext) -> None:
        params = context.params
        self._take_role("governor", Role.GOVERNOR, params.version, GOVERNOR_VERSION)
        with reading("the registration of a governor"):
            hello = GovernorHello(
                version=params.version,
                incarnation=GovernorId(params.incarnation),
                data_address=seen_from_outside(params.dataAddress, self._peer_host),
                peer_host=self._peer_host,
                resources=read_resources(params.resources),
            )
        governor = ServedGovernor(self._connection, self._handler, hello, params.control)
        results = context.results
        results.upstream = governor.offered()
        results.address = governor.address
        self._connection.beat()  # who is silent is the reactor's to judge

    def _take_role(self, role: str, needed: Role, version: int, expected: int) -> None:
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
        self._role = role
