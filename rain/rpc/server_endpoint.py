"""Registers new connections of the server, each as a client or as a governor.

A connection registers once and in one role. One that does not within the handshake limit is closed.
Streams of data and HTTP come to the same port (`listener`).
"""

from __future__ import annotations

import logging
from math import inf

import trio
from attrs import Factory, evolve, frozen

from rain.base.address import seen_from_outside
from rain.base.admission import Admitted, Role
from rain.base.errors import ProtocolError
from rain.base.ids import GovernorId
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.rpc import schema
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.codec.amounts import read_resources
from rain.rpc.handlers import FencedError, GovernorHello, Resumes, ServerHandler
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.listener import Listener
from rain.rpc.offered import IncomingCall, RemoteCapability, Served, offer
from rain.rpc.outgoing import Patience
from rain.rpc.pending import PENDING_LIMIT
from rain.rpc.port import Port
from rain.rpc.server_client import ServedClient
from rain.rpc.server_governor import ServedGovernor
from rain.rpc.streams import server_streams
from rain.stream.protocol import NOBODY
from rain.stream.sockets import Connected
from rain.tls.keys import NO_KEYS, Keys

HANDSHAKE_LIMIT = 10.0
"""Seconds within which a connection has to say who it is."""

FIRST_WORDS = 64 * 1024
"""The most bytes of its first message, before its role is known."""

log = logging.getLogger(__name__)


@frozen
class PeerLimits:
    """The limits that a server sets for its peers."""

    handshake: float = HANDSHAKE_LIMIT
    pending: int = PENDING_LIMIT  # bytes of the answers that a client waits for
    client_silence: float | None = None  # seconds after which a client is closed; None: never
    patience: Patience = Factory(Patience)


def listen(
    nursery: trio.Nursery,
    where: tuple[str, int] | Port,
    handler: ServerHandler,
    *,
    keys: Keys = NO_KEYS,
    limits: PeerLimits = PeerLimits(),  # it is frozen
    machine: bytes = NOBODY,
) -> Listener:
    """Listens for clients and governors, at any free port if it is 0; `StartError` if it cannot.

    A standby has opened its port before (`rain.rpc.standing_by`). A peer on the same `machine`
    reads what the server stores by itself.
    """

    host = Host(handler, limits, nursery, machine)

    def greet(connected: Connected, peer_host: str, admitted: Admitted) -> Link:
        return Guest(connected, peer_host, admitted, host).link

    streams = server_streams(nursery, handler, machine, keys)
    return Listener(nursery, where, greet, streams, limits.handshake, keys)


@frozen
class Host:
    """The state that all connections of a server share."""

    handler: ServerHandler
    limits: PeerLimits
    nursery: trio.Nursery
    machine: bytes


class Guest:
    """A connection that has not registered yet, and may do only that.

    Its link is closed unless it registers within the limit.
    """

    def __init__(
        self, connected: Connected, peer_host: str, admitted: Admitted, host: Host
    ) -> None:
        self._peer_host = peer_host
        self._admitted = admitted
        self._host = host
        self._handler = host.handler
        self._role = ""
        offered = offer(
            schema.server.ServerBootstrap,
            {
                "registerClient": Served(self._read_client, self._register_client),
                "registerGovernor": Served(self._read_governor, self._register_governor),
            },
        )
        self.link = Link(connected, offered, FIRST_WORDS)
        self.link.allow(FIRST_WORDS, FIRST_WORDS)
        self.link.on_end = self._left
        host.nursery.start_soon(self._judge)

    async def _judge(self) -> None:
        limit = self._host.limits.handshake
        with trio.move_on_after(limit):
            await self.link.until_ended()
        if not self._role:
            self.link.end_with_reason(f"nobody has registered within {limit:g} seconds")

    def _read_client(self, params: Fields) -> bytes:
        self._check_role("client", Role.CLIENT, params["version"], CLIENT_VERSION)
        token: bytes = params["token"]
        return token

    def _register_client(self, token: bytes, call: IncomingCall) -> None:
        self._take("client", evolve(self._host.limits.patience, makes_wait=True))
        try:
            client = ServedClient(
                self.link,
                self._handler,
                self._host.limits.pending,
                token,
                self._host.machine,
                self._admitted.user,
            )
        except FencedError as error:
            call.answer({"fenced": str(error), "generation": self._handler.generation})
            self.link.end_with_reason(str(error))
            return
        self._host.nursery.start_soon(self.link.expect, self._host.limits.client_silence)
        client.welcome(call, self._handler.cluster, self._handler.generation)

    def _read_governor(self, params: Fields) -> tuple[GovernorHello, RemoteCapability]:
        version: int = params["version"]  # first: what another version says next is not known
        self._check_role("governor", Role.GOVERNOR, version, GOVERNOR_VERSION)
        if params["control"] is None:
            raise ProtocolError("a governor without anything that takes orders")
        hello = GovernorHello(
            version=version,
            incarnation=_read_incarnation(params["incarnation"]),
            data_address=seen_from_outside(params["dataAddress"], self._peer_host),
            resources=read_resources(params["resources"]),
            resumes=_read_resumes(params),
            time_left=_read_time_left(params["timeLeft"]),
            disk=max(params["disk"], 0),
        )
        return hello, params["control"]

    def _register_governor(
        self, said: tuple[GovernorHello, RemoteCapability], call: IncomingCall
    ) -> None:
        hello, control = said
        # The server never stops reading from a governor: it would look silent, though its link is
        # only slow. The reactor decides how long a governor may be silent.
        self._take("governor", self._host.limits.patience)
        try:
            governor = ServedGovernor(self.link, self._handler, hello, control, self._host.nursery)
        except FencedError as error:
            call.answer({"fenced": str(error), "generation": self._handler.generation})
            self.link.end_with_reason(str(error))
        else:
            call.answer({**governor.registered(), "generation": self._handler.generation})

    def _take(self, role: str, patience: Patience) -> None:
        self._role = role
        self.link.allow(MESSAGE_LIMIT)
        self.link.bear(patience)

    def _left(self, cause: str) -> None:
        log.warning("a peer from %s has not registered: %s", self._peer_host, cause)

    def _check_role(self, role: str, needed: Role, version: int, expected: int) -> None:
        if self._role:
            raise ProtocolError(
                f"this connection is registered as a {self._role} and cannot become a {role}"
            )
        if needed is not self._admitted.role:
            was = self._admitted.role.name.lower()
            raise ProtocolError(f"this connection was let in as a {was}, not as a {role}")
        if version != expected:
            raise ProtocolError(
                f"the {role} speaks version {version} of the protocol and this server version"
                f" {expected}: install the same version of Rain on both sides"
            )


def _read_resumes(params: Fields) -> Resumes | None:
    if not params["resumes"]:
        return None
    return Resumes(params["heard"], params["confirmed"], params["last"])


def _read_time_left(seconds: float) -> float:
    """The seconds after which a governor must be gone; 0 says that there is no limit."""
    if not 0 <= seconds < inf:  # nor NaN
        raise ProtocolError(f"{seconds} is no time that a governor has left")
    return seconds or inf


def _read_incarnation(number: int) -> GovernorId:
    """Checks an incarnation: addresses contain it, and their parsers know no minus sign."""
    if number <= 0:
        raise ProtocolError(f"{number} is no incarnation of a governor: it must be above 0")
    return GovernorId(number)
