"""Orders that are not urgent: they wait for another message to their governor.

A separate message costs as much as ten tasks. The less data a governor holds in vain until then,
the longer they may wait.
"""

from __future__ import annotations

from math import inf

from attrs import Factory, define

from rain.base.ids import NUMBER_BITS, GovernorId, ObjectId, SessionId
from rain.base.wire.orders import Orders
from rain.server.core.reactor_settings import ReactorSettings


@define(eq=False)
class Later:
    """Objects that a governor need not hold any more. It is told in the next message that is sent
    anyway.
    """

    due: float = inf  # it waits no longer than that
    held: float = 0  # bytes that the governor holds in vain, at the most
    drops: list[ObjectId] = Factory(list)
    forget_sessions: list[SessionId] = Factory(list)

    def join(self, orders: Orders) -> None:
        """Goes along with these."""
        orders.drops += self.drops
        orders.forget_sessions += self.forget_sessions


@define(eq=False)
class LaterOrders:
    """What waits, by governor."""

    waiting: dict[GovernorId, Later] = Factory(dict)
    due: float = inf  # when the first of it goes without other orders

    def of(self, governor: GovernorId, held: float, now: float, settings: ReactorSettings) -> Later:
        """Where news wait for a governor, which holds `held` bytes until it hears them."""
        later = self.waiting.get(governor)
        if later is None:
            later = self.waiting[governor] = Later()
        later.held += held
        due = now + (settings.little_wait if later.held <= settings.little else settings.much_wait)
        if due < later.due:
            later.due = due
            self.due = min(due, self.due)
        return later

    def leave_out(self, governor: GovernorId, session: SessionId) -> None:
        """The governor is told to forget the session, and with it what it should drop of it."""
        later = self.waiting.get(governor)
        if later is not None and later.drops:
            later.drops = [i for i in later.drops if i >> NUMBER_BITS != session]

    def join(self, batches: dict[GovernorId, Orders], now: float) -> None:
        """Sends waiting orders along with those of a turn, or alone when their time has come."""
        waiting = self.waiting
        for governor, orders in batches.items():
            later = waiting.pop(governor, None)
            if later is not None:
                later.join(orders)
        if now >= self.due:
            for governor in [found for found, later in waiting.items() if later.due <= now]:
                waiting.pop(governor).join(batches.setdefault(governor, Orders()))
            self.due = min([later.due for later in waiting.values()], default=inf)
        elif not waiting:
            self.due = inf

    def join_all(self, batches: dict[GovernorId, Orders]) -> None:
        """All of it goes with these orders, or alone."""
        for governor, later in self.waiting.items():
            later.join(batches.setdefault(governor, Orders()))
        self.waiting.clear()
        self.due = inf

    def forget(self, governor: GovernorId) -> None:
        """The governor has gone."""
        self.waiting.pop(governor, None)
