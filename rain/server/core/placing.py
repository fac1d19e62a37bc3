"""Orders to governors about the data objects that they must hold: their kinds and their sources.

Small objects are sent with the orders, so they arrive with them; an object that only one task reads
is lent with that task. For all others the order names a holder, and the governor reports when they
have arrived. Few governors at a time get a large object (`sources`). For the others the order says
that the source comes later, and they get it when a holder has room to send.
"""

from __future__ import annotations

from collections.abc import Collection

from rain.base.copies import CopyMove, CopyRow
from rain.base.ids import KindId
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.orders import LATER, SERVER, Orders
from rain.graph import DataObject, Governor, Session
from rain.graph.copy import Copy, move_copy, tell_of_copies
from rain.server.core.sources import TREE_FROM, Senders
from rain.server.core.state import State


def bring(
    state: State, orders: Orders, objects: Collection[DataObject], governor: Governor
) -> None:
    """Orders objects on a governor that it was not told of before, each once."""
    tell_of_copies(objects, governor)
    _place(state, orders, objects, governor)


def lend(orders: Orders, objects: Collection[DataObject], governor: Governor) -> None:
    """Sends objects with the only tasks that read them.

    They are small, and the governor releases them with these tasks. So the server does not track
    these copies.
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


def place_again(state: State, copy: Copy) -> None:
    """Orders a copy again, from another source after each failure."""
    data_object, governor, tries = copy.object, copy.governor, copy.tries
    if data_object.data is not None:  # it is sent in this message
        if not copy.is_held:
            move_copy(data_object, governor, CopyMove.ARRIVE)
        state.fetches.is_over(copy)
    _place(state, state.orders(governor), (data_object,), governor, tries)


def _place(
    state: State,
    orders: Orders,
    objects: Collection[DataObject],
    governor: Governor,
    tries: int = 0,
) -> None:
    """Orders objects in a single loop, as the last task of a merge may read 100,000 objects."""
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
            source = (
                _source(data_object, governor, tries)
                if data_object.size < TREE_FROM
                else _sender(state, governor.objects[data_object], tries)
            )
            sources.append(source)
            contents.append(b"")
            if data_object.size > INLINE_LIMIT and source is not LATER:
                state.estimates.ordered(governor, data_object, state.now)


def _source(data_object: DataObject, governor: Governor, tries: int) -> str:
    """Chooses the source of an object, so that every holder is tried in turn."""
    if data_object.spooled:
        return SERVER
    # The governor's own address is the last resort: if it has the object it says so, else it asks
    # for another source.
    holders = [holder for holder in data_object.located if holder is not governor] or [governor]
    return holders[tries % len(holders)].source


def _sender(state: State, copy: Copy, tries: int) -> str:
    """Chooses the source of a large object, which few get at the same time; the others wait."""
    data_object = copy.object
    copy.source = 0
    senders = Senders(data_object)
    if tries:
        sender = senders.after(tries, copy)
    elif data_object in state.unsourced:
        sender = None  # no overtaking of waiting readers
    else:
        sender = senders.take(copy)
    if sender is not None:
        copy.source = sender.id
        return senders.spelled(sender, copy)
    if tries:
        return copy.governor.source  # as above
    state.unsourced.setdefault(data_object, {})[copy] = None
    return LATER


def find_sources(state: State) -> None:
    """Names sources to governors that wait for one, the first first."""
    for data_object, waiting in list(state.unsourced.items()):
        senders = Senders(data_object)
        for copy in list(waiting):
            if not copy.is_there or copy.row is not CopyRow.COMING or copy.source:
                del waiting[copy]
                continue
            sender = senders.take(copy)
            if sender is not None:
                del waiting[copy]
                copy.source = sender.id
                _name_source(state, copy, senders.spelled(sender, copy))
        if not waiting:
            del state.unsourced[data_object]


def _name_source(state: State, copy: Copy, source: str) -> None:
    data_object, governor = copy.object, copy.governor
    state.orders(governor).objects.add(
        data_object.id,
        data_object.kind.id,
        data_object.content_type,
        data_object.size,
        source,
    )
    state.estimates.ordered(governor, data_object, state.now)


def tell_object_kind(orders: Orders, governor: Governor, session: Session, kind: KindId) -> None:
    """Sends an object kind to a governor once, before its first use."""
    governor.kinds_told.add(kind)
    orders.object_kinds.append(session.object_kinds[kind])
