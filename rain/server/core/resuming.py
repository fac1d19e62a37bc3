"""Lets governors resume after a broken connection or a restart of the server, without losing
messages.

A server with a journal comes back with its state. For its governors that is only a connection that
resumes: orders and updates are numbered, and each side keeps its messages until the other has
confirmed them. When a governor resumes, both sides say which message they have applied last, and
send the later ones again. So every message is applied once, wherever the connection was cut.

A governor cannot resume if its work was given up meanwhile, or if it and the server have different
pasts: the machine of the server has lost the end of the journal. Then the state of the governor is
void, and it joins as a new one. Its past is different if it has received more orders than were made
until it was away: new orders of the server have the numbers of lost ones.
"""

from __future__ import annotations

from rain.base import numbering
from rain.base.errors import ProtocolError
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.graph.governor import Governor

GIVEN_UP = "the server has given up this governor, or has never known it"


def keep(governor: Governor, orders: Orders) -> None:
    """Numbers the next orders, and keeps them until the governor has applied them."""
    governor.ordered += 1
    orders.number = governor.ordered
    governor.unheard.append(orders)


def hear(governor: Governor, heard: int) -> None:
    """Forgets the orders up to this number: the governor has applied them."""
    if heard > governor.ordered:
        raise ProtocolError(
            f"it has applied the orders {heard}, and was given {governor.ordered} so far"
        )
    unheard = governor.unheard
    while unheard and unheard[0].number <= heard:
        unheard.popleft()


def is_new(governor: Governor, update: Update) -> bool:
    """Takes note of the numbers of an update; whether it was not applied before."""
    if update.heard:
        hear(governor, update.heard)
    new = numbering.is_new(update.number, governor.applied, "its update")
    governor.applied = max(governor.applied, update.number)
    return new


def why_not(governor: Governor | None, heard: int, confirmed: int) -> str:
    """Why a governor that has heard these orders, and of whose updates these were confirmed, cannot
    resume; "" if it can.
    """
    if governor is None:
        return GIVEN_UP
    ordered = governor.ordered if governor.away is None else governor.away.ordered
    if heard > ordered or confirmed > governor.applied:
        return (
            f"the server has lost the end of its journal: it had made {ordered} orders"
            f" for this governor, which has applied {heard}, and has applied {governor.applied}"
            f" updates, of which it has confirmed {confirmed}"
        )
    return ""


def missed(governor: Governor, heard: int) -> list[Orders]:
    """The orders that a governor has not heard."""
    return [orders for orders in governor.unheard if orders.number > heard]
