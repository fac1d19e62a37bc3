"""Clients that come back after a broken connection or a restart: what they ask is done once.

A server with a journal comes back with its state. A client that has lost its connection makes all
calls again that have not returned, with their old numbers. So the server notes the numbers of calls
that it has received, and keeps their answers until the client confirms them (`Settled`). A call
that comes again is not executed again: it gets the answer that was kept, or waits as before.

A client that does not come back in time has left, as if its connection had just ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hmac import compare_digest
from math import inf

from attrs import Factory, define

from rain.base.ids import ClientId, RequestId
from rain.server.core.messages import AnyAnswer, Asked, Effect, Said

MOST_RETURNS = 10
"""How many restarts of the server in a row a peer may miss; at the next one it is given up."""


@define(eq=False)
class ReturningClient:
    """The calls that one client may make again."""

    token: bytes  # what the client shows when it comes back
    heard: dict[int, RequestId | AnyAnswer] = Factory(dict)  # calls that are open, or answered
    away_until: float = inf  # it counts as left then, unless it has come back
    why_away: str = ""
    returns: int = 0  # restarts of the server since it was last connected


@define(eq=False)
class AskedAgain:
    """The calls of all clients that may come back."""

    clients: dict[ClientId, ReturningClient] = Factory(dict)
    open: dict[RequestId, tuple[ClientId, int]] = Factory(dict)  # the calls without an answer
    due: float = inf  # when the first of those that are away has left

    def joined(self, client: ClientId, token: bytes) -> None:
        """A client has registered that may come back."""
        self.clients[client] = ReturningClient(token)

    def left(self, client: ClientId) -> None:
        """A client has gone for good."""
        calls = self.clients.pop(client, None)
        if calls is not None:
            for entry in calls.heard.values():
                if isinstance(entry, int):
                    self.open.pop(entry, None)

    def find(self, token: bytes) -> ClientId | None:
        """The client with this token, which it sends when it comes back."""
        for client, calls in self.clients.items():
            if compare_digest(calls.token, token):
                return client
        return None

    def note(self, event: Asked | Said) -> RequestId | AnyAnswer | None:
        """Notes a call. Returns the kept answer or the open request if the call is repeated; None
        if it is new.
        """
        calls = self.clients.get(event.client)
        if calls is None or not event.number or event.request is None:
            return None
        known = calls.heard.get(event.number)
        if known is None or isinstance(known, int):
            calls.heard[event.number] = event.request
            self.open[event.request] = event.client, event.number
            if known is not None:
                self.open.pop(known, None)
        return known

    def keep(self, effects: Iterable[Effect]) -> None:
        """Keeps the answers among these, which the client may never get."""
        for effect in effects:
            if isinstance(effect, AnyAnswer):
                found = self.open.pop(effect.request, None)
                if found is not None:
                    client, number = found
                    self.clients[client].heard[number] = effect

    def settled(self, client: ClientId, numbers: Iterable[int]) -> None:
        """The client has the answers to these calls, or does not want them."""
        calls = self.clients.get(client)
        if calls is not None:
            for number in numbers:
                entry = calls.heard.pop(number, None)
                if isinstance(entry, int):
                    self.open.pop(entry, None)

    def away(self, client: ClientId, until: float, why: str) -> None:
        """A client has lost its connection."""
        calls = self.clients.get(client)
        if calls is not None:
            calls.away_until, calls.why_away = until, why
            self.due = min(self.due, until)

    def all_away(self, now: float, grace: float) -> None:
        """The server has come back, and no client is connected yet."""
        for client, calls in self.clients.items():
            calls.returns += 1
            until = now + grace if calls.returns <= MOST_RETURNS else now
            self.away(client, until, calls.why_away or "the server was away")

    def all_later(self, seconds: float) -> None:
        """Those that are away may come back so much later."""
        for calls in self.clients.values():
            calls.away_until += seconds
        self.due += seconds

    def resumed(self, client: ClientId) -> None:
        """A client is there again."""
        calls = self.clients.get(client)
        if calls is not None:
            calls.away_until, calls.why_away, calls.returns = inf, "", 0

    def take_late(self, now: float) -> list[tuple[ClientId, str]]:
        """Clients that have not come back in time, and why they were away."""
        due = [calls.away_until for calls in self.clients.values() if calls.away_until > now]
        self.due = min(due, default=inf)
        return [
            (client, calls.why_away)
            for client, calls in self.clients.items()
            if calls.away_until <= now
        ]

    def contradictions(self) -> Iterator[str]:
        """Contradictions in the data, for the checker; empty unless there is a bug."""
        for request, (client, number) in self.open.items():
            calls = self.clients.get(client)
            if calls is None or calls.heard.get(number) != request:
                yield f"the request {request} is not the call {number} of the client {client}"
        known = {
            entry
            for calls in self.clients.values()
            for entry in calls.heard.values()
            if isinstance(entry, int)
        }
        for request in known - self.open.keys():
            yield f"nobody knows whose call the request {request} is"
        late = min((calls.away_until for calls in self.clients.values()), default=inf)
        if late < self.due:
            yield f"a client leaves at {late}, and that is looked at from {self.due} on"
