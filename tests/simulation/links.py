"""What a server of the simulation has at its end of a connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from rain.base.errors import InvariantError, ProtocolError
from rain.base.ids import TaskId
from rain.base.wire import CLIENT_VERSION
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.rpc import schema
from rain.rpc.codec import through_the_wire
from rain.rpc.handlers import FencedError, GovernorHandler, Reply
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Served, offer
from rain.rpc.peer import Peer
from rain.rpc.server_client import ServedClient
from rain.server.registration import Registration
from tests.simulation.network import Connection

if TYPE_CHECKING:
    from tests.simulation.governor import Governor


class SimulatedLink:
    """What a served client needs of `rain.rpc.link.Link`, and where it registers."""

    def __init__(
        self, connection: Connection, registration: Registration, hear: Callable[[bytes], object]
    ) -> None:
        self.on_end: Callable[[str], object] = _nothing
        self.connection = connection
        self._registration = registration
        methods: dict[str, Served[Any]] = {
            "registerClient": Served(_read_token, self._register),
            "registerGovernor": Served(_nobody, _nobody),
        }
        bootstrap = offer(schema.server.ServerBootstrap, methods)
        self.peer = Peer(lambda content: connection.down.say_bytes(content, hear), bootstrap)

    def _register(self, token: bytes, call: IncomingCall) -> None:
        try:
            served = ServedClient(cast("Link", self), self._registration, token=token)
        except FencedError as error:
            generation = self._registration.generation
            call.answer({"fenced": str(error), "generation": generation})
            return
        served.welcome(call, self._registration.cluster, self._registration.generation)

    @property
    def is_over_for_good(self) -> bool:
        return self.peer.farewell is not None

    def hear(self, chunk: bytes) -> None:
        try:
            self.peer.receive(chunk)
        except ProtocolError as error:
            raise InvariantError(f"a client makes no sense: {error}") from error
        if self.peer.farewell is not None:
            self.connection.close_by_server("the client has left")
            self.lost(self.peer.farewell)

    def end_with_reason(self, cause: str) -> None:
        self.connection.close_by_server(cause)
        self.lost(cause)

    def lost(self, cause: str) -> None:
        self.peer.end(cause)
        on_end, self.on_end = self.on_end, _nothing
        on_end(cause)


class ToGovernor:
    """Implements `rain.rpc.handlers.GovernorLink`."""

    def __init__(self, connection: Connection, governor: Governor) -> None:
        self.connection = connection
        self.governor = governor
        self.handler: GovernorHandler | None = None  # until it is registered

    def order(self, orders: Orders) -> None:
        arrived = through_the_wire(orders)
        self.connection.down.say(lambda: self.governor.ordered(self.connection, arrived))

    def call_back(self, ticket: bytes) -> None:
        raise AssertionError("no simulated reader asks the server for data")

    def stop(self, reason: str) -> None:
        self.connection.down.say(lambda: self.governor.told_to_stop(self.connection, reason))
        self.connection.close_by_server(reason)

    def close(self, reason: str) -> None:
        self.connection.cut(reason)

    def report(self, reply: Reply[GovernorReport]) -> None:
        reply.refuse("nobody asks for it here")

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        reply.refuse(f"nobody asks for it here: {task}")

    def watch(self, number: int, watch: Watch | None) -> None:
        raise InvariantError(f"nobody watches here: {number} {watch}")


def _read_token(params: Fields) -> bytes:
    if params["version"] != CLIENT_VERSION:
        raise InvariantError("a client of another version")
    token: bytes = params["token"]
    return token


def _nobody(*_: object) -> None:
    raise InvariantError("governors of the simulation do not register in this way")


def _nothing(*_: object, **__: object) -> None:
    """Nobody is told."""
