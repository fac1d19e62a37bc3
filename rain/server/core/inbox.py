"""The inbox of the reactor: everything that has arrived since the last turn, and when it is due.

Most events ask for a turn at once. A heartbeat of a governor does not: a hundred idle governors
would cause fifty turns a second. So it waits a little for others, or for any other event. The
governor does not count as silent in the meantime, because each turn begins with everything that has
arrived.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import Factory, define

from rain.server.core.messages import ClientEvent, GovernorEvent, GovernorUpdated, TurnInput


@define(eq=False)
class Inbox:
    """Collects events, and asks for a turn at once or a little later."""

    ring: Callable[[], None]
    ring_soon: Callable[[], object]
    quiet: bool = True  # only heartbeats have come
    _next: TurnInput = Factory(lambda: TurnInput(0.0))

    def from_governor(self, event: GovernorEvent) -> None:
        self._next.from_governors.append(event)
        self.quiet = False
        self.ring()

    def alive(self, event: GovernorUpdated) -> None:
        """A governor has sent a heartbeat."""
        self._next.from_governors.append(event)
        self.ring_soon()

    def from_client(self, event: ClientEvent) -> None:
        self._next.from_clients.append(event)
        self.quiet = False
        self.ring()

    def take(self, now: float, scheduling_took: float) -> TurnInput:
        """Hands over everything and empties."""
        taken, self._next, self.quiet = self._next, TurnInput(0.0), True
        taken.now = now
        taken.scheduling_took = scheduling_took
        return taken
