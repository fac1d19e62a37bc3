"""A copy: one finished object on one governor.

An object has a tuple of its copies, and a governor has each of its copies under the object. While
an object is unfinished it has none: `row_of` derives where it will be from its producer. Every copy
is whole, so that its bytes are those of the object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from attrs import define

from rain.base.copies import COPY_MOVES, CopyMove, CopyRow
from rain.base.errors import InvariantError
from rain.base.ids import ObjectId
from rain.base.states import ObjectState

if TYPE_CHECKING:
    from rain.graph.data_object import DataObject
    from rain.graph.governor import Governor

_FINISHED, _UNFINISHED = ObjectState.FINISHED, ObjectState.UNFINISHED
_NONE, _ORDERED, _HELD = CopyRow.NONE, CopyRow.ORDERED, CopyRow.HELD


AT_SERVER = -1
"""The source of a copy that the server sends."""


@define(eq=False, repr=False, weakref_slot=False)
class Copy:
    """Only `move_copy` and the functions below it change its row."""

    object: DataObject
    governor: Governor
    row: CopyRow
    tries: int = 0  # how often the governor could not fetch it
    source: int = 0  # while it is coming: the incarnation of its sender, 0 for none yet

    def __repr__(self) -> str:
        return f"<Copy of {self.object!r} on {self.governor!r} {self.row.value}>"

    @property
    def is_known(self) -> bool:
        """Whether the governor knows of it."""
        return self.row is not _ORDERED

    @property
    def is_held(self) -> bool:
        """Whether the governor has all of it."""
        return self.row is _HELD

    @property
    def is_there(self) -> bool:
        """Whether it is still the copy of its object on its governor."""
        return self.governor.objects.get(self.object) is self


def row_of(data_object: DataObject, governor: Governor) -> CopyRow:
    """The state of an object on a governor."""
    copy = governor.objects.get(data_object)
    if copy is not None:
        return copy.row
    producer = data_object.producer
    if data_object.state is not _UNFINISHED or producer is None:
        return _NONE
    if producer.assigned is governor:
        return CopyRow.MAKING
    return CopyRow.EXPECTED if producer.scheduled is governor else _NONE


def move_copy(data_object: DataObject, governor: Governor, what: CopyMove) -> None:
    """Makes, changes or removes a copy along the table, or raises and changes nothing."""
    row = row_of(data_object, governor)
    end = COPY_MOVES[what].get(row)
    copy = governor.objects.get(data_object)
    if end is None or (copy is None and data_object.state is not _FINISHED):
        raise InvariantError(
            f"the copy of {data_object!r} on {governor!r}, which is {row.value}, cannot move by"
            f" {what.value!r}"
        )
    if copy is None:
        copy = governor.objects[data_object] = Copy(data_object, governor, end)
        data_object.copies = (*data_object.copies, copy)
    elif end is _NONE:
        del governor.objects[data_object]
        data_object.copies = tuple([other for other in data_object.copies if other is not copy])
    else:
        copy.row = end


def tell_of_copies(objects: Collection[DataObject], governor: Governor) -> None:
    """Notes copies for an order to a governor that does not know these objects yet.

    Objects that the server has in memory are sent with the order, so they arrive at once.
    """
    there, ends, arrived = governor.objects, COPY_MOVES[CopyMove.TELL], COPY_MOVES[CopyMove.ARRIVE]
    for data_object in objects:
        copy = there.get(data_object)
        if data_object.state is not _FINISHED or (copy is not None and copy.row not in ends):
            raise InvariantError(f"{governor!r} cannot be told to get {data_object!r}")
    for data_object in objects:
        copy = there.get(data_object)
        row = ends[_NONE if copy is None else copy.row]
        if data_object.data is not None:
            row = arrived[row]
        if copy is None:
            copy = there[data_object] = Copy(data_object, governor, row)
            data_object.copies = (*data_object.copies, copy)
        else:
            copy.row = row


def forget_copies(objects: Iterable[DataObject]) -> dict[Governor, list[ObjectId]]:
    """Removes all copies of these objects, since they are dropped or lost: every row allows both.

    Returns the objects that each governor was told to hold or to fetch.
    """
    told: dict[Governor, list[ObjectId]] = {}
    for data_object in objects:
        for copy in data_object.copies:
            governor = copy.governor
            del governor.objects[data_object]
            if copy.row is not _ORDERED:
                ids = told.get(governor)
                if ids is None:
                    ids = told[governor] = []
                ids.append(data_object.id)
        data_object.copies = ()
    return told
