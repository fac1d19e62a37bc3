"""The server of a local cluster: the real reactor and the real replies, without connections."""

from __future__ import annotations

import os
from itertools import count
from math import inf
from pathlib import Path

from rain.base.ids import ClientId, GovernorId
from rain.base.resources import Resources
from rain.base.wire.update import Update
from rain.local.clock import Steps
from rain.local.log import logger
from rain.rpc.handlers import ClientLink, GovernorLink
from rain.scheduler import DEFAULT
from rain.scheduler.rain import RainScheduler
from rain.server.core.inbox import Inbox
from rain.server.core.messages import ClientJoined, GovernorJoined, GovernorUpdated
from rain.server.core.reactor import Reactor
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.links import ConnectedClient, Links
from rain.server.spool import Spool

GOVERNOR = GovernorId(1)

_ALIVE = Update()


class Server:
    """Takes what clients and the governor say, and runs turns when it is told to."""

    def __init__(self, folder: Path, clock: Steps) -> None:
        folder.mkdir()
        settings = ReactorSettings(
            infeasible_grace=0.0,  # no other governor will ever join
            governor_silence=inf,  # it is the only one, and is here
            much_wait=0.0,
            little_wait=0.0,
            debug=os.environ.get("RAIN_DEBUG_MODE") == "1",
        )
        state = State(settings)
        state.status.name = DEFAULT
        self._clock = clock
        self._reactor = Reactor(RainScheduler, state)
        self._rung = False
        self._clients = count(1)
        self.uploads = Spool(folder)
        self._inbox = Inbox(self.ring, self.ring)
        self.links = Links(self._inbox, logger(), self.uploads, state)

    def ring(self) -> None:
        """There is something for the next turn."""
        self._rung = True

    def join_governor(self, address: str, resources: Resources, link: GovernorLink) -> None:
        """The only governor."""
        self.links.governors[GOVERNOR] = link
        self._inbox.from_governor(GovernorJoined(GOVERNOR, address, resources))

    def join_client(self, link: ClientLink) -> ConnectedClient:
        """One more client: of the program, or of calls that call others."""
        client = ClientId(next(self._clients))
        self.links.clients[client] = link
        self._inbox.from_client(ClientJoined(client))
        return ConnectedClient(self.links, client, link)

    def update(self, update: Update) -> None:
        """The governor's news; that it lives is none."""
        if update != _ALIVE:
            self._inbox.from_governor(GovernorUpdated(GOVERNOR, update))

    @property
    def next_time(self) -> float:
        """When the next turn is due."""
        return self._clock.now if self._rung else self._reactor.next_time()

    def turn(self) -> None:
        """One turn, and all that it wants done."""
        self._rung = False
        for effect in self._reactor.turn(self._inbox.take(self._clock.now, 0.0)).effects:
            self.links.carry(effect)
        self._reactor.settle()
