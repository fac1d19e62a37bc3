"""Numbers orders and updates, so that a governor and a restarted server can resume without losing
any.

The governor keeps its updates until the server has confirmed them, and ignores orders that it has
applied already. After a broken connection, both sides exchange the number of the last message that
they have applied, and send the later ones again (`rain/server/core/resuming.py` is the other side).
"""

from __future__ import annotations

from collections import deque

from attrs import Factory, define

from rain.base import numbering
from rain.base.errors import ProtocolError
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update


@define(eq=False)
class Numbers:
    """The numbers of received, sent and confirmed messages."""

    counts: bool = False  # the server can come back; else nothing is kept
    heard: int = 0  # the number of the last orders that were applied
    sent: int = 0  # the number of the last news
    applied: int = 0  # the number of the last news that the server has confirmed
    kept: deque[Update] = Factory(deque)  # the news after that

    def is_new(self, orders: Orders) -> bool:
        """Notes the number of orders; returns whether they are new."""
        new = numbering.is_new(orders.number, self.heard, "the batch of orders")
        self.heard = max(self.heard, orders.number)
        return new

    def stamp(self, update: Update, *, news: bool) -> None:
        """Confirms the received orders with an update; numbers and keeps it if it has news."""
        update.heard = self.heard
        if news and self.counts:
            self.sent += 1
            update.number = self.sent
            self.kept.append(update)

    def confirm(self, number: int) -> None:
        """The server will not forget the news up to this number."""
        if number > self.sent:
            raise ProtocolError(
                f"the server has applied the update {number}, and {self.sent} were sent"
            )
        kept = self.kept
        while kept and kept[0].number <= number:
            kept.popleft()
        self.applied = max(self.applied, number)

    def missed(self, number: int) -> list[Update]:
        """The news that the server has missed if it has applied those up to this number."""
        self.confirm(number)
        return list(self.kept)
