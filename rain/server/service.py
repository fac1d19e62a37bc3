"""The server's border: peers that join, the turns of the reactor, and the effects carried out.

Everything that arrives before a turn is one batch (`rain.daemon.turns`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from secrets import token_bytes

from structlog.typing import FilteringBoundLogger

from rain.base.errors import ProtocolError
from rain.base.ids import ClientId, GovernorId, ObjectId
from rain.daemon.garbage import LargeSubmissions
from rain.daemon.turns import Turns
from rain.rpc.handlers import (
    ClientHandler,
    ClientLink,
    FencedError,
    GovernorHandler,
    GovernorHello,
    GovernorLink,
    Resumes,
)
from rain.scheduler.api import Scheduler
from rain.server import resuming
from rain.server.clock import Clock
from rain.server.guard import TimeGuard
from rain.server.inbox import Inbox
from rain.server.journal.keeping import JournalKeeper
from rain.server.journal.writer import Writer
from rain.server.links import ConnectedClient, ConnectedGovernor, Links
from rain.server.messages import (
    ClientJoined,
    ClientResumed,
    GovernorJoined,
    GovernorLeft,
    GovernorResumed,
    ServerReturned,
    TurnInput,
)
from rain.server.reactor import Reactor
from rain.server.recording import Recorder, RecordingEnded
from rain.server.spool import Spool
from rain.server.state import CLUSTER_BYTES, State
from rain.stream.holder import Elsewhere, Held, InMemory

TOKEN_BYTES = 16
"""Of what a client shows when it comes back."""

SIGN_OF_LIFE_WAIT = 0.5
"""Seconds for which the news that a governor lives wait for others."""


class Service:
    """Implements `rain.rpc.handlers.ServerHandler` around one reactor."""

    def __init__(
        self,
        make_scheduler: Callable[[], Scheduler],
        state: State,
        clock: Clock,
        log: FilteringBoundLogger,
        uploads: Spool,
        recorder: Recorder | None = None,
        journal: Writer | None = None,
    ) -> None:
        self.clock = clock
        self.guard = TimeGuard(state.settings.scheduler_limit, clock.stopwatch)
        self.reactor = Reactor(make_scheduler, state, self.guard, notes_plans=journal is not None)
        self.guard.take()  # the time to make the scheduler is no time of a run
        self.log = log
        self.recorder = recorder
        self.turns = Turns(self._turn, self._settle, clock.now)
        self._large_submissions = LargeSubmissions()
        self._client_numbers = count(state.last_client + 1)
        self.inbox = Inbox(self.turns.ring, self._ring_soon)
        self.uploads = uploads
        state.cluster = self.cluster = state.cluster or token_bytes(CLUSTER_BYTES)
        self.links = Links(self.inbox, log, uploads, state)
        self.journal = None if journal is None else JournalKeeper(journal, self.links.carry)

    def join_client(self, link: ClientLink, token: bytes = b"") -> ClientHandler:
        if token:
            return self._take_back(link, token)
        client = ClientId(next(self._client_numbers))
        self.links.clients[client] = link
        if self.reactor.state.settings.returns:
            token = token_bytes(TOKEN_BYTES)
        self.log.info("client joined", client=client)
        self.inbox.from_client(ClientJoined(client, token))
        return ConnectedClient(self.links, client, link, token)

    def _take_back(self, link: ClientLink, token: bytes) -> ClientHandler:
        """A client that has lost its connection goes on over this one."""
        self._turn()  # all that has come over the former connection
        client = self.reactor.state.asked.find(token)
        if client is None:
            raise FencedError("the server has given up this client, or has never known it")
        former = self.links.clients.get(client)
        self.links.clients[client] = link
        if former is not None:
            former.close("the client has come over another connection")
        self.log.info("client is back", client=client)
        self.inbox.from_client(ClientResumed(client))
        return ConnectedClient(self.links, client, link, token)

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> GovernorHandler:
        if hello.resumes is not None:
            return self._resume(hello, hello.resumes, link)
        if hello.incarnation in self.links.governors:
            raise ProtocolError(
                f"a governor with the incarnation {hello.incarnation} is registered already"
            )
        self.links.governors[hello.incarnation] = link
        self.links.audience.joined(link)
        self.log.info(
            "governor joined",
            governor=hello.incarnation,
            address=hello.data_address,
            resources=hello.resources.as_dict(),
        )
        self.inbox.from_governor(
            GovernorJoined(hello.incarnation, hello.data_address, hello.resources)
        )
        return self._connected(hello.incarnation, hello.data_address, link)

    def _connected(
        self, governor: GovernorId, address: str, link: GovernorLink
    ) -> ConnectedGovernor:
        returns = self.reactor.state.settings.returns
        return ConnectedGovernor(self.links, governor, address, link, returns)

    def _resume(
        self, hello: GovernorHello, resumes: Resumes, link: GovernorLink
    ) -> GovernorHandler:
        """Takes back a governor that was away, between two turns."""
        incarnation, governors = hello.incarnation, self.links.governors
        governor = self.reactor.state.graph.governors.get(incarnation)
        former = governors.pop(incarnation, None)
        why_not = resuming.why_not(governor, resumes.heard, resumes.told)
        if why_not or governor is None:
            self.log.warning("governor fenced", governor=incarnation, reason=why_not)
            self.inbox.from_governor(GovernorLeft(incarnation, why_not))
        if former is not None:
            former.close("the governor has come over another connection")
        if why_not or governor is None:
            raise FencedError(why_not)
        self.log.info(
            "governor is back",
            governor=incarnation,
            address=governor.address,
            heard=resumes.heard,
            ordered=governor.ordered,
        )
        governors[incarnation] = link
        self.links.audience.joined(link)
        self.inbox.from_governor(GovernorResumed(incarnation, resumes.heard, resumes.last))
        for orders in resuming.missed(governor, resumes.heard):
            link.order(orders)
        return self._connected(incarnation, governor.address, link)

    def find(self, object_id: ObjectId) -> Held | None:
        """What the server has, or which governors have it."""
        data_object = self.reactor.state.graph.objects.get(object_id)
        if data_object is None:
            return None
        if data_object.data is not None:
            return InMemory(data_object.data)
        if data_object.spooled:
            return self.uploads.find(object_id)
        return Elsewhere(tuple(governor.source for governor in data_object.located))

    def returns(self) -> None:
        """The first event of a server that goes on where an earlier one has ended."""
        self.inbox.from_governor(ServerReturned())

    def stop(self, reason: str) -> None:
        """Ends all work: governors are stopped, and nobody waits any longer."""
        self.turns.stop()
        self.links.ending = True
        self.links.refuse_all(reason)
        for governor in self.links.governors.values():
            governor.stop(reason)
        for client in self.links.clients.values():
            client.close(reason)

    def _ring_soon(self) -> None:
        self.turns.ring_at(self.clock.now() + SIGN_OF_LIFE_WAIT)

    def _turn(self) -> None:
        quiet = self.inbox.quiet
        given = self.inbox.take(self.clock.now(), self.guard.take())
        if self.recorder is not None:
            self._record(self.recorder, given)
        if self.journal is not None:
            output = self.journal.turn(self.reactor, given, quiet=quiet)
        else:
            output = self.reactor.turn(given)
        if self.recorder is not None and output.interrupted_after is not None:
            self._record(self.recorder, output.interrupted_after)
        if self.journal is None:
            for effect in output.effects:
                self.links.carry(effect)

    def _record(self, recorder: Recorder, what: TurnInput | int) -> None:
        """Writes a turn, or how it was interrupted; on a full disk the run goes on without."""
        try:
            if isinstance(what, TurnInput):
                recorder(what)
            else:
                recorder.interrupted(what)
        except RecordingEnded as error:
            self.log.error("the recording has ended; the server goes on without", cause=str(error))
            recorder.close()
            self.recorder = None

    def _settle(self) -> float:
        """What can wait until the messages of a turn have left."""
        self.reactor.settle()
        state = self.reactor.state
        growing, nodes = bool(state.growing), state.graph.nodes
        self._large_submissions.after_turn(state.now, growing=growing, nodes=nodes)
        return self.reactor.next_time()
