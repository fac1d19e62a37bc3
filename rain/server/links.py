"""The connections of the server: turns messages of peers into events and effects into messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

import trio
from attrs import Factory, define, field
from structlog.typing import FilteringBoundLogger

from rain.base.ids import ClientId, GovernorId, RequestId
from rain.base.wire.printed import PrintedLines
from rain.base.wire.requests import (
    AnyRequest,
    DemandOf,
    OpenDashboard,
    OverviewOf,
    ReportsOf,
    Request,
    Settled,
    Statement,
    TakePrinted,
    Terminate,
    UsageOf,
    WatchPrinted,
    WhatHoldsUp,
)
from rain.base.wire.update import Update
from rain.rpc.handlers import ClientLink, GovernorLink, Reply
from rain.server.audience import Audience
from rain.server.core import hold_ups, rights, usage_report
from rain.server.core.demand import gather_demand
from rain.server.core.draining import OVER
from rain.server.core.inbox import Inbox
from rain.server.core.messages import (
    Answered,
    Asked,
    ClientAway,
    ClientGivenUp,
    ClientLeft,
    DiscardConstants,
    DismissGovernor,
    Effect,
    GatherReports,
    GovernorAway,
    GovernorDrains,
    GovernorLeft,
    GovernorRests,
    GovernorUpdated,
    Granted,
    Notice,
    OrderGovernor,
    Refuse,
    ReleaseGovernor,
    RequestAbandoned,
    Said,
    SchedulerFailed,
    TasksOverlooked,
)
from rain.server.core.overview import gather_overview
from rain.server.core.state import State
from rain.server.live import Live, Reports
from rain.server.reports import gather_reports
from rain.server.serving_http import DashboardOnDemand
from rain.server.spool import Spool

T = TypeVar("T")


@define(eq=False)
class Links:
    """All connected peers, and all pending replies."""

    inbox: Inbox
    log: FilteringBoundLogger
    uploads: Spool
    state: State  # only read, between two turns
    http: str = ""  # where the dashboard is served
    on_demand: DashboardOnDemand | None = None  # or may be served
    ending: bool = False  # the server stops in order, and its governors with it
    end_asked: trio.Event = Factory(trio.Event)  # a client wants the server to end
    governors: dict[GovernorId, GovernorLink] = Factory(dict)
    live: Live = field(init=False)
    audience: Audience = field(init=False)
    clients: dict[ClientId, ClientLink] = Factory(dict)
    _replies: dict[RequestId, Reply[Any]] = Factory(dict)  # the effect's value has the right type
    _requests: dict[Reply[Any], RequestId] = Factory(dict)
    _numbers: count[int] = Factory(
        lambda self: count(self.state.succession.last_request + 1), takes_self=True
    )

    def __attrs_post_init__(self) -> None:
        self.live = Live(self.state, self.governors)
        self.audience = Audience(self.governors)

    def serves_http(self, address: str) -> None:
        """The dashboard is there from now on."""
        self.http = address

    def request(self, reply: Reply[Any]) -> RequestId:
        """Returns a new request id for this reply."""
        request = RequestId(next(self._numbers))
        self._replies[request] = reply
        self._requests[reply] = request
        return request

    def abandon(self, reply: Reply[Any]) -> RequestId | None:
        """Abandons a reply that is no longer needed; None if it was sent already."""
        request = self._requests.pop(reply, None)
        if request is not None:
            del self._replies[request]
        return request

    def carry(self, effect: Effect) -> None:
        """Carries out one effect. Effects for peers that have left are ignored."""
        match effect:  # the most frequent first
            case OrderGovernor(governor, orders):
                link = self.governors.get(governor)
                if link is not None:
                    link.order(orders)
            case Answered(request, answer) | Granted(request, answer):
                self._answer(request, answer)
            case DismissGovernor(governor, reason, may_join):
                link = self.governors.pop(governor, None)
                if link is not None:
                    self.log.warning("governor dismissed", governor=governor, reason=reason)
                    (link.close if may_join else link.stop)(reason)
            case DiscardConstants(objects):
                self.uploads.discard(objects)
            case ReleaseGovernor(governor):
                link = self.governors.pop(governor, None)
                if link is not None:
                    self.log.info("governor has drained", governor=governor)
                    link.stop(OVER)
            case ClientGivenUp(client, why):
                self.log.info("client left", client=client, cause=why)
                self._end_client(client, why)
            case (
                Notice()
                | GovernorRests()
                | GovernorDrains()
                | SchedulerFailed()
                | TasksOverlooked()
            ):
                self._log(effect)
            case GatherReports() | Refuse():
                self._reply(effect)

    def _end_client(self, client: ClientId, why: str) -> None:
        """Ends the connection of a client that has left for good, if there still is one."""
        link = self.clients.pop(client, None)
        if link is not None:
            self.audience.left(client)
            link.end_with_reason(why)

    def _log(
        self,
        effect: Notice | GovernorRests | GovernorDrains | SchedulerFailed | TasksOverlooked,
    ) -> None:
        """Effects that are only written to the log."""
        match effect:
            case Notice(session, text):
                self.log.warning("session held up", session=session, why=text)
            case GovernorRests(governor, seconds, why):
                self.log.warning(
                    "governor rests", governor=governor, seconds=round(seconds, 1), why=why
                )
            case GovernorDrains(governor, tasks, objects):
                self.log.info("governor drains", governor=governor, tasks=tasks, objects=objects)
            case SchedulerFailed(scheduler, cause, trace):
                self.log.error("scheduler failed", scheduler=scheduler, cause=cause, trace=trace)
            case TasksOverlooked(scheduler, session):
                self.log.warning(
                    "scheduler overlooks tasks",
                    scheduler=scheduler,
                    session=session,
                    why="it has planned none of the tasks in news.unplanned, and nothing runs: it"
                    " must plan these as well as those in news.submitted",
                )

    def refuse_all(self, reason: str) -> None:
        """Refuses all pending requests, because the server ends."""
        for request in list(self._replies):
            self._reply(Refuse(request, reason))

    def _answer(self, request: RequestId, value: object) -> None:
        reply = self._take(request)
        if reply is not None:
            reply.answer(value)

    def _reply(self, effect: GatherReports | Refuse) -> None:
        reply = self._take(effect.request)
        if reply is None:
            return
        if isinstance(effect, Refuse):
            reply.refuse(effect.reason)
        else:
            gather_reports(list(self.governors.values()), reply)

    def _take(self, request: RequestId) -> Reply[Any] | None:
        reply = self._replies.pop(request, None)
        if reply is not None:
            del self._requests[reply]
        return reply


@define(eq=False)
class ConnectedGovernor:
    """Turns the messages of one governor into events."""

    links: Links
    id: GovernorId
    address: str
    link: GovernorLink
    returns: bool
    _alive: Update = Factory(Update)  # says nothing new

    @property
    def applied(self) -> int:
        governor = self.links.state.graph.governors.get(self.id)
        return 0 if governor is None else governor.applied

    def update(self, update: Update) -> None:
        event = GovernorUpdated(self.id, update)
        if not update.finished.ids and update == self._alive:
            self.links.inbox.alive(event)
        else:
            self._alive.heard = update.heard
            self.links.inbox.from_governor(event)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self.links.audience.printed(self.address, watch, lines)

    def drained(self) -> None:
        self._leave("it has stopped", on_purpose=True)

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        may_resume = self.returns and not at_fault and not self.links.ending
        if may_resume and self._is_here():
            del self.links.governors[self.id]
            self.links.log.warning(
                "governor away", governor=self.id, address=self.address, cause=cause
            )
            self.links.inbox.from_governor(GovernorAway(self.id, cause))
        else:
            self._leave(cause)

    def _is_here(self) -> bool:
        """Whether this is its connection, and not one that has ended or that it has replaced."""
        return self.links.governors.get(self.id) is self.link

    def _leave(self, cause: str, *, on_purpose: bool = False) -> None:
        # Only once: a governor says that it leaves, and then its connection ends too.
        if self._is_here():
            del self.links.governors[self.id]
            self.links.log.info(
                "governor left", governor=self.id, address=self.address, cause=cause
            )
            self.links.inbox.from_governor(GovernorLeft(self.id, cause, on_purpose))


@define(eq=False)
class ConnectedClient:
    """Turns the requests of one client into events."""

    links: Links
    id: ClientId
    link: ClientLink
    token: bytes = b""  # with this it may come back; empty if the server does not

    def welcome(self, reply: Reply[None]) -> None:
        if self.token:  # its first message is read when it is in the journal
            self.say(Settled(()), reply)
        else:
            reply.answer(None)

    # The answer to a request has the type that it names, which no `match` can tell the checkers.
    def ask(self, request: Request[Any], reply: Reply[Any], number: int = 0) -> None:
        links = self.links
        match request:
            case ReportsOf(tasks, _, True):
                links.live.with_live(tasks, reply, partial(self._ask_later, number, request))
            case OverviewOf(session):
                reply.answer(gather_overview(links.state, session, links.http))
            case DemandOf(seconds):
                reply.answer(gather_demand(links.state, seconds, links.state.now))
            case WhatHoldsUp(past):
                look = hold_ups.that_failed if past else hold_ups.of_client
                reply.answer(look(links.state, self.id, links.state.now))
            case UsageOf():
                reply.answer(usage_report.report(links.state, self.id, links.state.now))
            case TakePrinted(wait):
                links.audience.ask(self.id, wait, reply)
            case Terminate() if not self._is_of_admin():
                reply.refuse("only the owner of the cluster and admins may end the server")
            case OpenDashboard():
                self._open_dashboard(reply)
            case Terminate():
                links.log.info("a client ends the server", client=self.id)
                links.end_asked.set()
                reply.answer(None)
            case _:  # whatever else the codec makes is for the reactor
                self._ask(cast("AnyRequest", request), reply, number)

    def _is_of_admin(self) -> bool:
        state = self.links.state
        return rights.is_admin(state, rights.user_of(state, self.id))

    def _ask(self, what: AnyRequest, reply: Reply[Any], number: int) -> None:
        event = Asked(self.id, self.links.request(reply), what, number if self.token else 0)
        self.links.inbox.from_client(event)

    def _ask_later(self, number: int, request: ReportsOf, reply: Reply[Reports]) -> None:
        if self._is_here():  # else it has left meanwhile
            self._ask(request, reply, number)

    def _open_dashboard(self, reply: Reply[str]) -> None:
        if self.links.http:
            reply.answer(self.links.http)
        elif self.links.on_demand is not None:
            self.links.on_demand.ask(reply)
        else:
            reply.refuse(
                "the server has no dashboard: it was started without HTTP (--http-listen none)"
            )

    def has_heard(self, number: int) -> bool:
        calls = self.links.state.asked.clients.get(self.id)
        return calls is not None and number in calls.heard

    def say(
        self,
        statement: Statement | WatchPrinted | Settled,
        reply: Reply[None] | None = None,
        number: int = 0,
    ) -> None:
        links = self.links
        if isinstance(statement, WatchPrinted):
            links.audience.watch(self.id, rights.may_watch(links.state, self.id, statement.watch))
        elif self.token and reply is not None:  # it is heard when the journal has it
            number = 0 if isinstance(statement, Settled) else number
            links.inbox.from_client(Said(self.id, statement, links.request(reply), number))
            return
        else:
            links.inbox.from_client(Said(self.id, statement))
        if reply is not None:
            reply.answer(None)

    def abandoned(self, reply: Reply[Any]) -> None:
        request = self.links.abandon(reply)
        if request is not None:
            self.links.inbox.from_client(RequestAbandoned(self.id, request))
        else:
            self.links.audience.abandoned(self.id, reply)

    def left(self, cause: str, *, on_purpose: bool = False) -> None:
        if not self._is_here():  # it has come back over another connection
            return
        del self.links.clients[self.id]
        self.links.audience.left(self.id)
        if self.token and not on_purpose:
            self.links.log.warning("client away", client=self.id, cause=cause)
            self.links.inbox.from_client(ClientAway(self.id, cause))
        else:
            self.links.log.info("client left", client=self.id, cause=cause)
            self.links.inbox.from_client(ClientLeft(self.id, cause))

    def _is_here(self) -> bool:
        """Whether this is its connection, and not one that it has replaced."""
        return self.links.clients.get(self.id) is self.link
