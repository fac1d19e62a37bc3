"""Borrowed futures: futures that were unpickled in this process, or belong to other clients.

This client takes a handle of each object, and gives it back when the future is garbage-collected.
It reports the handles that it has taken before those that it gives back. So a future that was found
in the result of another one is taken while that result is still held. The client waits for each
unfinished future separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakMethod

from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.ids import ObjectId, session_of
from rain.base.states import ObjectState
from rain.base.wire.answers import ObjectReport, WaitAnswer
from rain.base.wire.requests import TakeHandles, WaitFor
from rain.client.data import DataObject, filled
from rain.client.rpc.common import DataObjectState
from rain.client.shapes import ObjectShape

if TYPE_CHECKING:
    from rain.client.connection import Connection
    from rain.client.session import Session

Ended = Callable[[ObjectId, WaitAnswer | Exception], None]
"""Called when an object is finished (None), or with the exception that says why it never will be.
"""


class BorrowedObject(DataObject):
    """An object of any session, of which this client has taken a handle."""

    __slots__ = ()

    def __del__(self) -> None:
        # As for all handles: nothing may block here, or take a lock.
        client = self.session.client
        if client is not None:
            client.housekeeper.give_back(self.packed_id)


def borrowed_object(session: Session, object_id: ObjectId, name: str) -> DataObject:
    """The handle, which a session of this client uses as one of its own."""
    obj = filled(BorrowedObject.__new__(BorrowedObject), session, ObjectShape(name, "pickle"))
    obj.packed_id = object_id
    obj.submission = 1
    obj.kept = True
    obj.known_state = DataObjectState.unfinished
    return obj


def waits_for(object_id: ObjectId) -> WaitFor:
    """Answered when the object is finished; refused with the failure if it will not be."""
    return WaitFor(session_of(object_id), (), (object_id,), "all")


class Borrowing:
    """The futures that one client borrows."""

    def __init__(self, connection: Connection, ended: WeakMethod[Ended]) -> None:
        self._connection = connection
        self._note_end = ended  # its object may go at any time
        self.untold: list[ObjectId] = []  # to be taken

    def add(self, object_id: ObjectId) -> None:
        """To be taken with the next `take`."""
        self.untold.append(object_id)

    def take(self) -> None:
        """Takes handles of all that was added, in one message, and waits for no answer."""
        if self.untold:
            count = len(self.untold)
            ids = self.untold[:count]
            del self.untold[:count]
            self._ask(ids)

    def _ask(self, ids: Sequence[ObjectId]) -> None:
        then = partial(self._taken, ids)
        try:
            self._connection.ask_then(TakeHandles(tuple(ids), wants_data=True), then)
        except ConnectionLostError as error:
            then(error)

    # In the thread of the connection.

    def _taken(self, ids: Sequence[ObjectId], answer: Sequence[ObjectReport] | Exception) -> None:
        if isinstance(answer, RefusedError) and len(ids) > 1:
            for object_id in ids:  # one that has gone must not take the others along
                self._ask([object_id])
        elif isinstance(answer, Exception):
            for object_id in ids:
                self._ended(object_id, answer)
        else:
            for report in answer:
                if report.state is ObjectState.FINISHED:
                    self._ended(report.id, WaitAnswer())
                else:
                    self._wait_for(report.id)

    def _wait_for(self, object_id: ObjectId) -> None:
        then = partial(self._ended, object_id)
        try:
            self._connection.ask_then(waits_for(object_id), then)
        except ConnectionLostError as error:
            then(error)

    def _ended(self, object_id: ObjectId, answer: WaitAnswer | Exception) -> None:
        ended = self._note_end()
        if ended is not None:
            ended(object_id, answer)
