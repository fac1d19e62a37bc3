"""What governors are told of the data objects that they shall hold: of which kind, and from where.

The bytes of small objects come along with the orders, so these are there when the orders are; what
only one task reads comes and goes with that task. Of all others it is said who has them, and the
governor says when they have come.
"""

from __future__ import annotations

from collections.abc import Collection

from rain.base.ids import KindId
from rain.base.wire import INLINE_LIMIT, SERVER, Orders
from rain.graph import DataObject, Governor, Session
from rain.graph.data_object import order_copies
from rain.server.state import State


def bring(
    state: State, orders: Orders, objects: Collection[DataObject], governor: Governor
) -> None:
    """Makes a governor get objects that it was not told of before, each of them once."""
    order_copies(objects, governor)
    _place(state, orders, objects, governor)


def lend(orders: Orders, objects: Collection[DataObject], governor: Governor) -> None:
    """Sends objects along with the tasks that come with them, which alone read them.

    They are small, and the governor lets them go with these tasks. So nobody keeps an account of
    such copies: for the server they are nowhere else than before.
    """
    told, lent = governor.kinds_told, orders.lent
    kinds = [one.kind.id for one in objects]
    if not told.issuperset(kinds):
        for one in objects:
            if one.kind.id not in told:
                tell_object_kind(orders, governor, one.session, one.kind.id)
    lent.kinds += kinds
    lent.ids += [one.id for one in objects]
    lent.content_types += [one.content_type for one in objects]
    lent.data += [one.data or b"" for one in objects]


def place_again(state: State, data_object: DataObject, governor: Governor, tries: int) -> None:
    """Tells a governor once more where to get an object; after each failure from another one."""
    if data_object.data is not None:  # it arrives with this very message
        data_object.locate_on(governor)
        state.fetched(data_object, governor)
    _place(state, state.orders(governor), (data_object,), governor, tries)


def _place(
    state: State,
    orders: Orders,
    objects: Collection[DataObject],
    governor: Governor,
    tries: int = 0,
) -> None:
    """The last task of a merge reads a hundred thousand objects, so all this is one loop."""
    told, placed = governor.kinds_told, orders.objects
    ids, kinds, content_types = placed.ids, placed.kinds, placed.content_types
    sizes, sources, contents = placed.sizes, placed.sources, placed.data
    for data_object in objects:
        kind = data_object.kind.id
        if kind not in told:
            tell_object_kind(orders, governor, data_object.session, kind)
        ids.append(data_object.id)
        kinds.append(kind)
        content_types.append(data_object.content_type)
        sizes.append(data_object.size)
        data = data_object.data
        if data is not None:
            sources.append("")
            contents.append(data)
        else:
            sources.append(_source(data_object, governor, tries))
            contents.append(b"")
            if data_object.size > INLINE_LIMIT:
                state.estimates.ordered(governor, data_object, state.now)


def _source(data_object: DataObject, governor: Governor, tries: int) -> str:
    """Who is to be asked for it, so that every holder has its turn."""
    if data_object.spooled:
        return SERVER
    # Its own address is the last resort: who has it says so, who has not asks for another.
    holders = [holder for holder in data_object.located if holder is not governor] or [governor]
    return holders[tries % len(holders)].source


def tell_object_kind(orders: Orders, governor: Governor, session: Session, kind: KindId) -> None:
    """Told before its first use there, and only once."""
    governor.kinds_told.add(kind)
    orders.object_kinds.append(session.object_kinds[kind])
