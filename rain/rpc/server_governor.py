"""The server's side of one governor: its news come in, orders go out."""

import asyncio

import capnp

from rain.base.errors import ProtocolError
from rain.base.wire import GovernorReport, Orders, Update
from rain.rpc import schema
from rain.rpc.codec.answers import read_governor_report
from rain.rpc.codec.border import Capability, OfferedServer, reading
from rain.rpc.codec.orders import encode_orders
from rain.rpc.codec.split import OrdersSplitter
from rain.rpc.codec.update import decode_update, encode_update
from rain.rpc.connection import Connection, reason_of
from rain.rpc.handlers import GovernorHandler, GovernorHello, Reply, ServerHandler
from rain.rpc.offer import Method, Write, nothing, offer
from rain.rpc.running import start

STOP_GRACE = 2.0
"""Seconds that a governor has to say that it heard "stop", before its link is closed."""

_ALIVE = encode_update(Update())
"""What every governor says every other second when it has no news."""


class GovernorEnd:
    """How the server speaks to one governor (`rain.rpc.handlers.GovernorLink`)."""

    def __init__(self, connection: Connection, control: Capability) -> None:
        self._connection = connection
        self._control = control
        self._splitter = OrdersSplitter()

    def order(self, orders: Orders) -> None:
        for part in self._splitter.split(orders):
            self._connection.say(encode_orders(part))

    def report(self, reply: Reply[GovernorReport]) -> None:
        if self._connection.is_open:
            start(self._report(reply))
        else:
            reply.refuse("the governor has left")

    def stop(self, reason: str) -> None:
        if self._connection.is_open:
            start(self._stop(reason))

    def close(self, reason: str) -> None:
        self._connection.end(reason)

    async def _report(self, reply: Reply[GovernorReport]) -> None:
        try:
            answer = await self._control.report()
        except capnp.KjException as error:
            reply.refuse(f"the governor does not report: {reason_of(error)}")
            return
        try:
            with reading("a governor's report"):
                report = read_governor_report(answer.report)
        except ProtocolError as error:
            self._connection.end_with_reason(str(error))
            reply.refuse(str(error))
            return
        reply.answer(report)

    async def _stop(self, reason: str) -> None:
        try:
            async with asyncio.timeout(STOP_GRACE):
                await self._control.stop(reason=reason)
        except (capnp.KjException, TimeoutError):
            pass  # it has gone already, or it does not listen any more: closed either way
        self._connection.end(reason)


class ServedGovernor:
    """One registered governor."""

    def __init__(
        self,
        connection: Connection,
        server: ServerHandler,
        hello: GovernorHello,
        control: Capability,
    ) -> None:
        self._connection = connection
        self._handler: GovernorHandler = server.join_governor(
            hello, GovernorEnd(connection, control)
        )
        connection.hear(_read_update, self._handler.update)
        connection.tell_end(self._handler.left)

    @property
    def address(self) -> str:
        return self._handler.address

    def offered(self) -> OfferedServer:
        return offer(
            schema.governor.GovernorUpstream,
            self._connection,
            {"drained": Method(nothing, self._drained)},
        )

    async def _drained(self, _: None) -> Write:  # async, as all methods
        self._handler.drained()
        return nothing


def _read_update(message: bytes) -> Update:
    return Update() if message == _ALIVE else decode_update(message)
