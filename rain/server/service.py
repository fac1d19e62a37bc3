"""The server's border: peers that join, the pulse of turns, and the effects carried out.

A turn is a plain function in the host loop. Everything that arrives before it is one batch; the
pulse beats as soon as something has arrived, and an alarm when the reactor wants a turn for
the sake of time alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from structlog.typing import FilteringBoundLogger

from rain.base.errors import ProtocolError
from rain.base.ids import ClientId, ObjectId
from rain.rpc.alarm import Alarm
from rain.rpc.handlers import (
    ClientHandler,
    ClientLink,
    GovernorHandler,
    GovernorHello,
    GovernorLink,
)
from rain.rpc.host import Pulse
from rain.scheduler.api import Scheduler
from rain.server.clock import Clock, TimedScheduler
from rain.server.inbox import Inbox
from rain.server.links import ConnectedClient, ConnectedGovernor, Links
from rain.server.messages import ClientJoined, GovernorJoined, TurnInput, orders_first
from rain.server.reactor import Reactor
from rain.server.spool import Spool
from rain.server.state import State
from rain.stream.holder import Elsewhere, Held, InMemory


class Service:
    """Implements `rain.rpc.handlers.ServerHandler` around one reactor."""

    def __init__(
        self,
        scheduler: Scheduler,
        state: State,
        clock: Clock,
        log: FilteringBoundLogger,
        uploads: Spool,
        record: Callable[[TurnInput], None] | None = None,
    ) -> None:
        self.clock = clock
        self.scheduler = TimedScheduler(scheduler, clock)
        self.reactor = Reactor(self.scheduler, state)
        self.log = log
        self.record = record
        self._pulse = Pulse(self._turn)
        self._alarm = Alarm(self._pulse.poke, clock.now)
        self._client_numbers = count(1)
        self.inbox = Inbox(self._pulse.poke)
        self.uploads = uploads
        self.links = Links(self.inbox, log, uploads)

    def join_client(self, link: ClientLink) -> ClientHandler:
        client = ClientId(next(self._client_numbers))
        self.links.clients[client] = link
        self.log.info("client joined", client=client)
        self.inbox.from_client(ClientJoined(client))
        return ConnectedClient(self.links, client)

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> GovernorHandler:
        if hello.incarnation in self.links.governors:
            raise ProtocolError(
                f"a governor with the incarnation {hello.incarnation} is registered already"
            )
        self.links.governors[hello.incarnation] = link
        self.log.info(
            "governor joined",
            governor=hello.incarnation,
            address=hello.data_address,
            resources=hello.resources.as_dict(),
        )
        self.inbox.from_governor(
            GovernorJoined(hello.incarnation, hello.data_address, hello.resources)
        )
        return ConnectedGovernor(self.links, hello.incarnation, hello.data_address)

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

    def stop(self, reason: str) -> None:
        """Ends all work: governors are stopped, and nobody waits any longer."""
        self._pulse.stop()
        self._alarm.stop()
        self.links.refuse_all(reason)
        for governor in self.links.governors.values():
            governor.stop(reason)
        for client in self.links.clients.values():
            client.close(reason)

    def _turn(self) -> None:
        given = self.inbox.take(self.clock.now(), self.scheduler.take())
        if self.record is not None:
            self.record(given)
        output = self.reactor.turn(given)
        for effect in orders_first(output.effects):
            self.links.carry(effect)
        self._alarm.set(output.next_due)
