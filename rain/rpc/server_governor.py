"""The server's side of one governor: receives its updates, and sends its orders."""

from __future__ import annotations

from functools import partial

import trio

from rain.base.errors import ProtocolError
from rain.base.ids import TaskId
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.base.wire.update import Update
from rain.rpc import schema
from rain.rpc.codec.answers import read_governor_report, read_running
from rain.rpc.codec.border import fault_of_sender
from rain.rpc.codec.orders import write_orders
from rain.rpc.codec.printed import Watched, WatchLines, read_watch_lines, write_watched
from rain.rpc.codec.split import split_orders
from rain.rpc.codec.update import read_update
from rain.rpc.handlers import GovernorHandler, GovernorHello, Reply, ServerHandler
from rain.rpc.interface import Fields, Interface
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered, RemoteCapability, Served, nothing, offer
from rain.rpc.questions import CallError

STOP_GRACE = 2.0
"""Seconds that a governor has to confirm "stop", before its link is closed."""

ANSWER_EVERY = 1.0
"""Seconds after which the server answers an update at once, and not with its next orders."""

_CONTROL = Interface.of(schema.governor.GovernorControl).methods
_ORDER, _REPORT, _STOP = _CONTROL["order"], _CONTROL["report"], _CONTROL["stop"]
_RUNNING, _WATCH = _CONTROL["running"], _CONTROL["watch"]
_CALL_BACK = _CONTROL["callBack"]


class GovernorEnd:
    """How the server speaks to one governor (`rain.rpc.handlers.GovernorLink`)."""

    def __init__(self, link: Link, control: RemoteCapability, nursery: trio.Nursery) -> None:
        self._link = link
        self._control = control
        self._nursery = nursery

    def order(self, orders: Orders) -> None:
        parts = split_orders(orders)
        for place, part in enumerate(parts, 1):
            fields = write_orders(part, more=place < len(parts))
            self._link.peer.call(self._control, _ORDER, fields, self._taken)

    def report(self, reply: Reply[GovernorReport]) -> None:
        self._link.peer.call(self._control, _REPORT, {}, partial(self._reported, reply))

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        then = partial(self._told_of, reply)
        self._link.peer.call(self._control, _RUNNING, {"task": task}, then)

    def watch(self, number: int, watch: Watch | None) -> None:
        fields = write_watched(Watched(watch, number))
        self._link.peer.call(self._control, _WATCH, fields, _nothing)

    def call_back(self, ticket: bytes) -> None:
        self._link.peer.call(self._control, _CALL_BACK, {"ticket": ticket}, _nothing)

    def stop(self, reason: str) -> None:
        heard = trio.Event()
        self._link.peer.call(self._control, _STOP, {"reason": reason}, lambda _: heard.set())
        self._nursery.start_soon(self._end_when, heard, reason)

    def close(self, reason: str) -> None:
        self._link.end(reason)

    def _taken(self, outcome: Fields | CallError) -> None:
        if isinstance(outcome, CallError):
            self._link.end_with_reason(outcome.reason)

    def _reported(self, reply: Reply[GovernorReport], outcome: Fields | CallError) -> None:
        if isinstance(outcome, CallError):
            reply.refuse(_why_not(outcome))
            return
        try:
            report = _read_report(outcome["report"])
        except ProtocolError as error:
            reply.refuse(str(error))
            raise
        reply.answer(report)

    def _told_of(self, reply: Reply[RunningTask], outcome: Fields | CallError) -> None:
        if isinstance(outcome, CallError):
            reply.refuse(_why_not(outcome))
        else:
            reply.answer(read_running(outcome))

    async def _end_when(self, heard: trio.Event, reason: str) -> None:
        with trio.move_on_after(STOP_GRACE):  # closed either way
            await heard.wait()
        self._link.end(reason)


def _read_report(fields: Fields) -> GovernorReport:
    try:
        return read_governor_report(fields)
    except ValueError as error:
        raise fault_of_sender("a governor's report", error) from error


def _nothing(_: Fields | CallError) -> None:
    """The governor has received it, or has gone."""


def _why_not(error: CallError) -> str:
    has_left = error.kind == "disconnected"
    return "the governor has left" if has_left else f"the governor says: {error}"


class ServedGovernor:
    """One registered governor."""

    def __init__(
        self,
        link: Link,
        server: ServerHandler,
        hello: GovernorHello,
        control: RemoteCapability,
        nursery: trio.Nursery,
    ) -> None:
        self._handler: GovernorHandler = server.join_governor(
            hello, GovernorEnd(link, control, nursery)
        )
        self._answer_due = 0.0
        self._link = link
        link.on_end = self._ended

    def _ended(self, cause: str) -> None:
        self._handler.left(cause, at_fault=self._link.has_faulty_peer)

    def registered(self) -> Fields:
        """The answer to a governor that was accepted."""
        handler = self._handler
        return {
            "upstream": self.offered(),
            "address": handler.address,
            "returns": handler.returns,
            "applied": handler.applied,
        }

    def offered(self) -> Offered:
        return offer(
            schema.governor.GovernorUpstream,
            {
                "update": Served(read_update, self._update),
                "drained": Served(nothing, self._drained),
                "printed": Served(read_watch_lines, self._printed),
            },
        )

    def _update(self, update: Update, call: IncomingCall) -> None:
        self._handler.update(update)
        now = trio.current_time()
        results = {"applied": self._handler.applied}
        if now >= self._answer_due:  # a sign of life for the governor
            self._answer_due = now + ANSWER_EVERY
            call.answer(results)
        else:
            call.acknowledge(results)

    def _printed(self, watched: WatchLines, call: IncomingCall) -> None:
        self._handler.printed(watched.number, watched.lines)
        call.answer()

    def _drained(self, _: None, call: IncomingCall) -> None:
        self._handler.drained()
        call.answer()
