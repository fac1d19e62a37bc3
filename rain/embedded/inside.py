"""The link between a server and a governor in one process, by plain method calls.

A message is only put into the inbox or the events of the next turn, so that no turn runs inside of
another.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.base.ids import TaskId
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.update import Update
from rain.rpc.handlers import (
    ControlHandler,
    GovernorHandler,
    GovernorHello,
    Reply,
    ServerHandler,
    ServerLink,
)


async def register(
    server: ServerHandler, hello: GovernorHello, governor: ControlHandler
) -> ServerLink:
    """The governor joins the server."""
    return ToServer(server.join_governor(hello, ToGovernor(governor)))


@frozen(eq=False)
class ToGovernor:
    """Implements `rain.rpc.handlers.GovernorLink`."""

    _governor: ControlHandler

    def order(self, orders: Orders) -> None:
        self._governor.order(orders)

    def report(self, reply: Reply[GovernorReport]) -> None:
        reply.answer(self._governor.report())

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        reply.answer(self._governor.running(task))

    def watch(self, number: int, watch: Watch | None) -> None:
        self._governor.watch(number, watch)

    def call_back(self, ticket: bytes) -> None:
        self._governor.call_back(ticket)

    def stop(self, reason: str) -> None:
        self._governor.stop(reason)

    def close(self, reason: str) -> None:
        self._governor.left(reason, at_fault=False)


@frozen(eq=False)
class ToServer:
    """Implements `rain.rpc.handlers.ServerLink`."""

    _server: GovernorHandler
    returns: bool = False  # neither outlives the other,
    applied: int = 0  # so nothing is resumed
    is_open: bool = True

    @property
    def address(self) -> str:
        return self._server.address

    def update(self, update: Update) -> None:
        self._server.update(update)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self._server.printed(watch, lines)

    async def drained(self) -> None:
        self._server.drained()

    def reject(self, reason: str) -> None:
        self._server.left(reason, at_fault=True)

    def close(self, reason: str = "the governor has ended") -> None:
        self._server.left(reason, at_fault=False)
