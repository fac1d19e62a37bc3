"""Sends the tasks and objects of a session to the server, one submit after the other."""

import os
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

from rain.base.ids import NUMBER_MASK, pack
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.submission import Submission
from rain.client.data import DataObject
from rain.client.fusing.fused import Units, fused
from rain.client.history import History
from rain.client.items import expect_visible
from rain.client.numbers import SharedNumbers
from rain.client.submission import Batch, KindTable, Same, build
from rain.client.task import Task
from rain.client.unit import Unit

T = TypeVar("T")

_CHECKING = os.environ.get("RAIN_DEBUG_MODE") == "1"


class Pending:
    """The tasks and data objects that the next submit will take with it.

    Several threads may add while one takes: each addition is one append, and a take leaves what
    came after its look.
    """

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self._objects: list[DataObject] = []  # those that no task has made by itself
        # The contents of tasks and constants, from before these are added until they are sent.
        self.contents: dict[int, Sequence[DataObject]] = {}
        self.keys: dict[int, Same] = {}  # in a durable session, for as long
        self.add_task = self.tasks.append
        self.add_tasks = self.tasks.extend  # which no other thread divides
        self.add_object = self._objects.append

    def objects(self) -> list[DataObject]:
        """Constants and outputs; an output that the user has made is both, and is listed once."""
        found = {obj.packed_id: obj for obj in self._objects}
        for task in self.tasks:
            found.update((obj.packed_id, obj) for obj in task.output_objects)
        return list(found.values())

    def has_uploads(self) -> bool:
        """Whether something is so large that it goes ahead of the submit."""
        return any(len(obj.constant or b"") > INLINE_LIMIT for obj in self._objects[:])

    def take(self) -> Batch:
        """Everything that is here now."""
        # An object is added before the tasks that read it: what the first look finds is complete.
        tasks = self.tasks[:]
        del self.tasks[: len(tasks)]
        objects = self._objects[:]
        if objects:  # as for few single tasks
            del self._objects[: len(objects)]
        contents: dict[int, Sequence[DataObject]] = {}
        if self.contents:
            added: tuple[Task | DataObject, ...] = (*tasks, *objects)
            for one in added:
                inside = self.contents.pop(one.packed_id, None)
                if inside is not None:
                    contents[one.packed_id] = inside
        keys: dict[int, Same] = {}
        if self.keys:
            added = (*tasks, *objects)
            keys = {
                one.packed_id: self.keys.pop(one.packed_id)
                for one in added
                if one.packed_id in self.keys
            }
        return Batch(tasks, objects, contents, keys)

    def put_back(self, batch: Batch) -> None:
        """A refused batch waits for the next submit, ahead of everything that came meanwhile."""
        self.tasks[:0] = batch.tasks
        self._objects[:0] = batch.objects
        self.contents.update(batch.contents)
        self.keys.update(batch.keys)

    def clear(self) -> None:
        self.tasks.clear()
        self._objects.clear()
        self.contents.clear()
        self.keys.clear()


class Outgoing:
    """The submits of one session, one after the other whatever thread they come from."""

    def __init__(
        self,
        session_id: int,
        numbers: SharedNumbers | None,
        compared_in: bytes = b"",
        *,
        idempotent: bool = False,
    ) -> None:
        self.pending = Pending()
        self.history = History()
        self.submits = 0  # the number that was accepted
        self.has_units = False  # some of what was submitted is inside of units
        self.lets_inputs_go = False  # submitted tasks do not hold handles of their inputs
        self._session_id = session_id
        self._idempotent = idempotent  # the tasks may run twice at a time, unless they deny it
        self._compared_in = compared_in  # the cluster, if a task submits, which may run again
        self.refusals = 0  # of submissions whose answers nobody waited for
        # Counted down from the last number, so that tasks and objects have numbers without gaps.
        self._next_kind = numbers or count(pack(session_id, NUMBER_MASK), -1).__next__
        self._kinds = KindTable(self._next_kind, idempotent=self._idempotent)
        self._kinds_hold = 0  # after as many refusals
        self._sending = threading.RLock()
        self.is_sending = False
        self._sender = 0  # the thread that sends, or has sent last
        self.is_asked_again = False  # by a signal handler, in the middle of a submit

    def submit(
        self, send: Callable[[Submission], T], has_left: Callable[[Submission], bool], fuse: bool
    ) -> tuple[Submission, T] | None:
        """Sends all that is pending; returns the submission and the result of `send`, or None.

        If `send` raises, nothing has changed, unless it was interrupted after the message had left.
        With `fuse`, each chain is sent as one task.

        A signal handler may run in the middle of a submit. What it submits is sent by the
        interrupted call, which finds `is_asked_again` set.
        """
        with self._sending:
            if self.is_sending:
                self.is_asked_again = True
                return None
            self._sender = threading.get_ident()
            self.is_sending = True
            try:
                return self._submit(send, has_left, fuse)
            finally:
                self.is_sending = False

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was submitting."""
        return self.is_sending and self._sender == threading.get_ident()

    def _submit(
        self, send: Callable[[Submission], T], has_left: Callable[[Submission], bool], fuse: bool
    ) -> tuple[Submission, T] | None:
        batch = self.pending.take()
        if not (batch.tasks or batch.objects):
            return None
        accepted = False
        built: Submission | None = None
        units: Units = []
        if self._kinds_hold != self.refusals:  # the server may not know any of them
            self._kinds_hold = self.refusals
            self._kinds = KindTable(self._next_kind, idempotent=self._idempotent)
        try:
            if self.has_units:
                expect_visible(batch.tasks)
            fewer = batch
            if fuse:
                fewer, units = fused(batch, check=_CHECKING)
            built = message = build(self._session_id, fewer, self._kinds, self._compared_in)
            sent = send(message)
            accepted = True
        finally:
            # Called in any case, so that the connection forgets the submission.
            left = built is not None and has_left(built)
            if accepted or left:
                self._kinds.accepted()
                self._note_submitted(batch)
                for unit, members in units:
                    self._note_unit(unit, members)
            else:
                self._kinds.refused()
                self.pending.put_back(batch)
        return message, sent

    def _note_submitted(self, batch: Batch) -> None:
        number = self.submits + 1
        for task in batch.tasks:
            task.submission = number
            for obj in task.output_objects:
                obj.submission = number
            if self.lets_inputs_go and len(task.input_objects) > 1:
                task.let_inputs_go()
        for obj in batch.objects:
            obj.submission = number
            obj.constant = b""
        if batch.tasks:
            self.history.note(batch.tasks)
        self.submits = number

    def _note_unit(self, unit: Unit, members: Sequence[Task]) -> None:
        for member in members:
            member.unit = unit
        for member in members[:-1]:
            member.output.unit = unit
        self.history.note_unit(unit)
        self.has_units = True

    def clear(self) -> None:
        """Forgets all of it."""
        self.pending.clear()
        self.history.clear()
