"""What has arrived since the last turn."""

from __future__ import annotations

from collections.abc import Callable

from attrs import Factory, define

from rain.server.messages import ClientEvent, GovernorEvent, TurnInput


@define(eq=False)
class Inbox:
    """Collects events and pokes the reactor's pulse with each."""

    poke: Callable[[], None]
    _next: TurnInput = Factory(lambda: TurnInput(0.0))

    def from_governor(self, event: GovernorEvent) -> None:
        self._next.from_governors.append(event)
        self.poke()

    def from_client(self, event: ClientEvent) -> None:
        self._next.from_clients.append(event)
        self.poke()

    def take(self, now: float, scheduling_took: float) -> TurnInput:
        """Hands over everything and empties."""
        taken, self._next = self._next, TurnInput(0.0)
        taken.now = now
        taken.scheduling_took = scheduling_took
        return taken
