"""The governor's side of its connection to the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from rain.base.admission import Role
from rain.base.errors import ProtocolError, StartError
from rain.base.ids import TaskId
from rain.base.leading import Servers
from rain.base.silence import BEAT, SILENCE_LIMIT
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines
from rain.base.wire.update import Update
from rain.rpc import schema
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.codec.amounts import write_amounts
from rain.rpc.codec.answers import write_governor_report, write_running
from rain.rpc.codec.orders import read_orders
from rain.rpc.codec.split import INLINE_BYTES, join_orders, slim_update
from rain.rpc.codec.update import write_update
from rain.rpc.dialing import NotLeadingError, reaching
from rain.rpc.ended import How
from rain.rpc.handlers import ControlHandler, GovernorHello
from rain.rpc.interface import Fields, Interface
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered, RemoteCapability, Served, nothing, offer
from rain.rpc.outgoing import Patience
from rain.rpc.questions import CallError
from rain.rpc.trio_dialing import dial
from rain.stream.calling_back import TICKET_BYTES
from rain.stream.errors import UnreachableError
from rain.tls.keys import NO_KEYS, Keys

if TYPE_CHECKING:
    from rain.rpc.codec.printed import Watched

T = TypeVar("T")

LEAST_TIME = 0.001
"""Sent by a governor that has no time left."""

CONNECT_TIMEOUT = 10.0

ALWAYS_INLINE = INLINE_BYTES // INLINE_LIMIT
"""This number of results, each as long as an inline one may be, fits into one update."""

_REGISTER = Interface.of(schema.server.ServerBootstrap).methods["registerGovernor"]
_UPSTREAM = Interface.of(schema.governor.GovernorUpstream).methods
_UPDATE, _DRAINED = _UPSTREAM["update"], _UPSTREAM["drained"]
_PRINTED = _UPSTREAM["printed"]


class RefusedHereError(StartError):
    """The server is there, and refuses this governor: it would refuse it again."""


class NotTakenBackError(StartError):
    """The server does not take this governor back; the reason."""


class Upstream:
    """How a governor speaks to its server over a connection (`rain.rpc.handlers.ServerLink`)."""

    def __init__(self, link: Link, registered: Fields, applied: Callable[[int], object]) -> None:
        self.address: str = registered["address"]
        self.returns: bool = registered["returns"]
        self.applied: int = registered["applied"]
        self._link = link
        self._upstream: RemoteCapability = registered["upstream"]
        self._tell_applied = applied

    @property
    def is_open(self) -> bool:
        return self._link.is_open

    def update(self, update: Update) -> None:
        if len(update.finished.data) > ALWAYS_INLINE:
            update = slim_update(update)
        self._link.peer.call(self._upstream, _UPDATE, write_update(update), self._updated)

    def _updated(self, outcome: Fields | CallError) -> None:
        if not isinstance(outcome, CallError) and outcome["applied"]:
            self._tell_applied(outcome["applied"])

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        from rain.rpc.codec.printed import WatchLines, write_watch_lines  # noqa: PLC0415 # rarely used

        fields = write_watch_lines(WatchLines(watch, lines))
        self._link.peer.call(self._upstream, _PRINTED, fields, _taken)

    async def drained(self) -> None:
        answered = trio.Event()
        self._link.peer.call(self._upstream, _DRAINED, {}, lambda _: answered.set())
        await answered.wait()

    def reject(self, reason: str) -> None:
        self._link.end_with_reason(reason, How.INVALID)

    def close(self, reason: str = "the governor closed the connection") -> None:
        self._link.end(reason)


def _taken(_: Fields | CallError) -> None:
    """The update was received, or the connection has ended, which is handled elsewhere."""


def _control(handler: ControlHandler) -> Offered:
    """The calls that the server may make to this governor."""

    parts: list[Orders] = []  # of an order that is not complete yet

    def order(part: tuple[Orders, bool], call: IncomingCall) -> None:
        orders, more = part
        parts.append(orders)
        if not more:
            whole = orders if len(parts) == 1 else join_orders(parts)
            parts.clear()
            handler.order(whole)
        call.acknowledge()

    def report(_: None, call: IncomingCall) -> None:
        call.answer({"report": write_governor_report(handler.report())})

    def stop(reason: str, call: IncomingCall) -> None:
        handler.stop(reason)
        call.answer()

    def running(task: TaskId, call: IncomingCall) -> None:
        call.answer(write_running(handler.running(task)))

    def watch(watched: Watched, call: IncomingCall) -> None:
        handler.watch(watched.number, watched.watch)
        call.answer()

    def call_back(ticket: bytes, call: IncomingCall) -> None:
        handler.call_back(ticket)
        call.answer()

    return offer(
        schema.governor.GovernorControl,
        {
            "order": Served(_read_order, order),
            "report": Served(nothing, report),
            "stop": Served(_read_reason, stop),
            "running": Served(_read_task, running),
            "watch": Served(_read_watched, watch),
            "callBack": Served(_read_ticket, call_back),
        },
    )


def _read_order(params: Fields) -> tuple[Orders, bool]:
    """Orders, and whether more of the same turn follow."""
    return read_orders(params), params["more"]


def _read_reason(params: Fields) -> str:
    reason: str = params["reason"]
    return reason


def _read_ticket(params: Fields) -> bytes:
    ticket: bytes = params["ticket"]
    if len(ticket) != TICKET_BYTES:
        raise ProtocolError(f"a ticket of {len(ticket)} bytes instead of {TICKET_BYTES}")
    return ticket


def _read_watched(params: Fields) -> Watched:
    from rain.rpc.codec.printed import read_watched  # noqa: PLC0415 # rarely used

    return read_watched(params)


def _read_task(params: Fields) -> TaskId:
    task: TaskId = params["task"]
    return task


async def connect_governor(
    nursery: trio.Nursery,
    servers: Servers,
    handler: ControlHandler,
    hello: GovernorHello,
    *,
    keys: Keys = NO_KEYS,
    timeout: float = CONNECT_TIMEOUT,
    silence_limit: float | None = SILENCE_LIMIT,
) -> Upstream:
    """Registers with the current one of the servers; `StartError` says why it cannot.

    The connection lives in the nursery. A server that is silent for longer than the limit is lost.
    The first orders may reach the handler before this returns. A governor that resumes is refused
    with `NotTakenBackError` if all that it has and does is void.
    """
    timeout = servers.limit(timeout)
    with reaching(servers.where, "governor"):
        connected = await dial(*servers.current, timeout, Role.GOVERNOR, keys)
    link = Link(connected, None, MESSAGE_LIMIT)
    link.bear(Patience())
    nursery.start_soon(link.run)
    params = {
        "version": hello.version,
        "incarnation": hello.incarnation,
        "dataAddress": hello.data_address,
        "resources": write_amounts(tuple(hello.resources.items())),
        "control": _control(handler),
        "timeLeft": 0.0 if hello.time_left == inf else max(hello.time_left, LEAST_TIME),
        "disk": hello.disk,
    }
    resumes = hello.resumes
    if resumes is not None:
        numbers = {
            "heard": resumes.heard,
            "confirmed": resumes.confirmed,
            "last": resumes.last,
        }
        params |= {"resumes": True, **numbers}
    try:
        upstream = await _register(link, params, servers, timeout, handler)
    except BaseException:
        link.end("the governor was not registered")
        raise

    def ended(cause: str) -> None:
        handler.left(cause, at_fault=link.has_faulty_peer)

    if not link.is_open:  # the server has ended it right after the answer
        ended(link.cause)
        return upstream
    link.on_end = ended

    async def is_replaced() -> bool:
        """Whether a server at one of the other addresses admits governors now."""
        for other in servers.others:
            with suppress(UnreachableError, ProtocolError):
                (await dial(*other, timeout, Role.GOVERNOR, keys)).close()
                return True
        return False

    nursery.start_soon(link.expect, silence_limit, BEAT, is_replaced)
    return upstream


async def _register(
    link: Link, params: Fields, servers: Servers, timeout: float, handler: ControlHandler
) -> Upstream:
    where = servers.where
    answered = trio.Event()
    outcome: Any = None

    def take(returned: Fields | CallError) -> None:
        nonlocal outcome
        outcome = returned
        answered.set()

    link.peer.call(link.peer.bootstrap(), _REGISTER, params, take)
    with trio.move_on_after(timeout):
        await answered.wait()
    if outcome is None:
        raise StartError(f"the server at {where} does not answer within {timeout:g} s")
    if isinstance(outcome, CallError):
        if outcome.kind == "disconnected" and link.has_faulty_peer:
            raise StartError(f"what listens at {where} is not a Rain server: {link.cause}")
        refusal = f"the server at {where} refuses this governor: {outcome}"
        raise StartError(refusal) if outcome.kind == "disconnected" else RefusedHereError(refusal)
    servers.accept(outcome["generation"])
    if outcome["fenced"]:
        raise NotTakenBackError(outcome["fenced"])
    if outcome["upstream"] is None:
        raise StartError(f"what listens at {where} is not a Rain server: it offers nothing")
    return Upstream(link, outcome, handler.applied)


async def connect_in_turn(servers: Servers, connect: Callable[[], Awaitable[T]]) -> T:
    """Registers with the first of the servers that leads, from the current one on."""
    troubles: list[StartError] = []
    for _ in servers.addresses:
        try:
            return await connect()
        except (NotTakenBackError, RefusedHereError):
            raise
        except StartError as error:
            troubles.append(error)
            servers.try_next()
    if len(troubles) == 1:  # if it is a standby, another address is missing
        raise StartError(str(troubles[0])) from None
    stands_by = any(isinstance(one, NotLeadingError) for one in troubles)
    text = "; ".join(str(one) for one in troubles)
    raise NotLeadingError(text) if stands_by else StartError(text)
