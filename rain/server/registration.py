"""Registers peers that join the server, and peers that come back over another connection."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from secrets import token_bytes

from structlog.typing import FilteringBoundLogger

from rain.base.errors import ProtocolError
from rain.base.ids import ClientId, GovernorId, ObjectId
from rain.rpc.handlers import (
    ClientHandler,
    ClientLink,
    FencedError,
    GovernorHandler,
    GovernorHello,
    GovernorLink,
    Resumes,
)
from rain.server.core import resuming, rights
from rain.server.core.messages import (
    ClientJoined,
    ClientResumed,
    GovernorJoined,
    GovernorLeft,
    GovernorResumed,
)
from rain.server.core.state import State
from rain.server.core.succession import CLUSTER_BYTES
from rain.server.links import ConnectedClient, ConnectedGovernor, Links
from rain.server.spool import Spool
from rain.stream.holder import Elsewhere, Held, InMemory

TOKEN_BYTES = 16
"""The length of the token with which a client comes back."""


class Registration:
    """Implements `rain.rpc.handlers.ServerHandler`: what a new connection can ask for.

    `turn` makes a turn with all that has come, unless the last one was made. A peer that comes back
    is taken between two turns.
    """

    def __init__(
        self,
        state: State,
        links: Links,
        uploads: Spool,
        turn: Callable[[], object],
        log: FilteringBoundLogger,
    ) -> None:
        self.cluster = state.succession.name_cluster(token_bytes(CLUSTER_BYTES))
        self.uploads = uploads
        self._state = state
        self._links = links
        self._inbox = links.inbox
        self._turn = turn
        self._log = log
        self._client_numbers = count(state.succession.last_client + 1)

    @property
    def generation(self) -> int:
        return self._state.succession.generation

    def join_client(self, link: ClientLink, token: bytes = b"", user: str = "") -> ClientHandler:
        why_not = rights.why_not(self._state, user)
        if why_not:
            raise FencedError(why_not)
        if token:
            return self._take_back(link, token, user)
        client = ClientId(next(self._client_numbers))
        self._links.clients[client] = link
        if self._state.settings.returns:
            token = token_bytes(TOKEN_BYTES)
        named = {"user": user} if user else {}
        self._log.info("client joined", client=client, **named)
        self._inbox.from_client(ClientJoined(client, token, user))
        return ConnectedClient(self._links, client, link, token)

    def _take_back(self, link: ClientLink, token: bytes, user: str) -> ClientHandler:
        """A client that has lost its connection goes on over this one."""
        self._turn()  # everything that was received over the former connection
        client = self._state.asked.find(token)
        if client is None or self._state.graph.clients[client].user != user:
            raise FencedError("the server has given up this client, or has never known it")
        former = self._links.clients.get(client)
        self._links.clients[client] = link
        if former is not None:
            former.end_with_reason("the client has reconnected")
        self._log.info("client is back", client=client)
        self._inbox.from_client(ClientResumed(client))
        return ConnectedClient(self._links, client, link, token)

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> GovernorHandler:
        if hello.resumes is not None:
            return self._resume(hello, hello.resumes, link)
        known = self._links.governors, self._state.graph.governors
        if any(hello.incarnation in governors for governors in known):
            raise ProtocolError(
                f"a governor with the incarnation {hello.incarnation} is registered already"
            )
        self._links.governors[hello.incarnation] = link
        self._links.audience.joined(link)
        self._log.info(
            "governor joined",
            governor=hello.incarnation,
            address=hello.data_address,
            resources=hello.resources.as_dict(),
        )
        self._inbox.from_governor(
            GovernorJoined(
                hello.incarnation, hello.data_address, hello.resources, hello.time_left, hello.disk
            )
        )
        return self._connected(hello.incarnation, hello.data_address, link)

    def _connected(
        self, governor: GovernorId, address: str, link: GovernorLink
    ) -> ConnectedGovernor:
        returns = self._state.settings.returns
        return ConnectedGovernor(self._links, governor, address, link, returns)

    def _resume(
        self, hello: GovernorHello, resumes: Resumes, link: GovernorLink
    ) -> GovernorHandler:
        """Takes back a governor that was away, between two turns."""
        incarnation, governors = hello.incarnation, self._links.governors
        governor = self._state.graph.governors.get(incarnation)
        former = governors.pop(incarnation, None)
        why_not = resuming.why_not(governor, resumes.heard, resumes.confirmed)
        if why_not or governor is None:
            self._log.warning("governor fenced", governor=incarnation, reason=why_not)
            self._inbox.from_governor(GovernorLeft(incarnation, why_not))
        if former is not None:
            former.close("the governor has reconnected")
        if why_not or governor is None:
            raise FencedError(why_not)
        self._log.info(
            "governor is back",
            governor=incarnation,
            address=governor.address,
            heard=resumes.heard,
            ordered=governor.ordered,
        )
        governors[incarnation] = link
        self._links.audience.joined(link)
        self._inbox.from_governor(GovernorResumed(incarnation, resumes.heard, resumes.last))
        return self._connected(incarnation, governor.address, link)

    def ask_for_call(self, governor: GovernorId, ticket: bytes) -> bool:
        link = self._links.governors.get(governor)
        if link is not None:
            link.call_back(ticket)
        return link is not None

    def find(self, object_id: ObjectId) -> Held | None:
        """The data that the server has, or which governors have it."""
        data_object = self._state.graph.objects.get(object_id)
        if data_object is None:
            return None
        if data_object.data is not None:
            return InMemory(data_object.data)
        if data_object.spooled:
            return self.uploads.find(object_id)
        return Elsewhere(tuple(governor.source for governor in data_object.located))
