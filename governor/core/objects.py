"""Tracks the data objects of a governor: which are here, which are being fetched, and when they are
removed.

An object is needed while the server relies on a copy here (`wanted`), while live tasks read it
(`consumers`), and from the time when it was `lent` to a task until that task has ended. An object
that is neither needed nor here is forgotten at once. A stored object lingers for some seconds after
it is needed, because the next task often needs the same object; then no transfer is necessary. The
content of an object never changes: a copy stays, even if the same object is made or sent again. The
only exception is the list of an exchange, which is different each time that it is made, and
therefore does not linger.
"""

from __future__ import annotations

from rain.base.errors import ProtocolError
from rain.base.exchange import LISTED
from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.base.wire.orders import LATER
from rain.governor.core.caching import Caching
from rain.governor.core.fetches import Fetches
from rain.governor.core.lingering import Lingering
from rain.governor.core.nodes import DataObject, Session, Task
from rain.governor.core.offloading import Offloading
from rain.governor.core.outbox import Outbox
from rain.governor.core.reactor_settings import DataLimits
from rain.governor.core.results import Content, Stored
from rain.governor.core.shared_files import SharedFiles
from rain.governor.core.tables import ObjectMove, ObjectRow, TaskMove, TaskRow

_HELD = ObjectRow.HELD
_LINGERING = ObjectRow.LINGERING
_PULLING = ObjectRow.PULLING
_READY = TaskRow.READY
_NOT_HERE = (
    ObjectRow.REMOTE,
    ObjectRow.PULLING,
    ObjectRow.ABSENT,
    ObjectRow.UNSTORED,
    ObjectRow.FAR,
)

FAR = "far:"
"""The prefix of the source of an object in the far store; a number follows."""


def is_far(source: str) -> bool:
    """Whether an object is fetched from the far store."""
    return source.startswith(FAR)


class Objects:
    """Moves objects along their table and maintains the lists that belong to the rows."""

    def __init__(self, outbox: Outbox, limits: DataLimits) -> None:
        self._outbox = outbox
        self.now = 0.0
        self.lingering = Lingering(limits.linger_seconds)
        self.files = SharedFiles(outbox, limits.tiers, limits.disk)
        self.fetches = Fetches(outbox, limits.disk)
        self.caching = Caching(outbox)
        self.offloading = Offloading(outbox, self.files)

    # Orders of the server.

    def order(
        self,
        session: Session,
        object_id: ObjectId,
        kind: ObjectKind,
        content_type: str,
        size: int,
        source: str,
        data: bytes,
    ) -> None:
        """The server wants a copy here: from a source, or from the bytes that it sends along.

        The server knows that bytes in its message have arrived, so these are not reported.
        """
        target = session.objects.get(object_id)
        if target is None:
            target = DataObject(object_id, kind, session, ObjectRow.GONE)
            session.objects[object_id] = target
        target.wanted, target.lent = True, False
        row = target.row
        if row in (ObjectRow.HELD, ObjectRow.LINGERING, ObjectRow.FAR):
            if row is ObjectRow.LINGERING:
                self.take_back(target)
            if source:
                self._outbox.update.located.append(object_id)
        elif row is ObjectRow.MAKING:
            return  # it is reported with the task that makes it
        elif source == "":
            self.fetches.stop(target)
            target.move(ObjectMove.GIVE)
            self._fill(target, data, len(data), content_type)
            self.settle(target)
        elif row is not ObjectRow.PULLING or target.source != source:
            self.fetches.stop(target)
            target.move(ObjectMove.ORDER)
            was_later = target.source == LATER
            target.content_type, target.size, target.source = content_type, size, source
            if source != LATER and (row is not ObjectRow.REMOTE or was_later):
                self.fetches.queue.add(target)

    def lend(
        self,
        session: Session,
        object_id: ObjectId,
        kind: ObjectKind,
        content_type: str,
        data: bytes,
    ) -> None:
        """Takes an object that comes with a task that reads it; the server does not track it."""
        target = session.objects.get(object_id)
        if target is None:
            target = DataObject(object_id, kind, session, ObjectRow.GONE)
            session.objects[object_id] = target
        target.lent = not target.wanted
        row = target.row
        if row is ObjectRow.LINGERING:
            self.take_back(target)
        elif row is ObjectRow.MAKING:
            raise ProtocolError(f"the object {spell(object_id)} is lent where it is being made")
        elif row is not ObjectRow.HELD:
            self.fetches.stop(target)
            target.move(ObjectMove.GIVE)
            self._fill(target, data, len(data), content_type)

    def drop(self, session: Session, object_id: ObjectId) -> None:
        """The server does not rely on this copy any more. Does nothing if it is not here."""
        target = session.objects.get(object_id)
        if target is not None:
            target.wanted = False
            self.settle(target)

    # Transfers.

    def start_fetches(self) -> None:
        """Starts the fetches that may start now; lingering objects make room for them."""
        if self.lingering and self.fetches.lack_room():
            self.reclaim()
        self.fetches.start()

    def fetched(self, fetch: int, content: bytes | Stored) -> None:
        """A transfer is complete; its content is thrown away if it is no longer needed."""
        target = self.fetches.take(fetch)
        if target is None:
            self.files.discard(content)
            return
        target.move(ObjectMove.ARRIVE)
        if isinstance(content, bytes):
            self._fill(target, content, len(content), target.content_type)
        else:
            self._fill(target, content.file, content.size, target.content_type)
        if not is_far(target.source):  # else the server knows that it is here
            self._outbox.update.located.append(target.id)
        self.settle(target)

    def fetch_failed(self, fetch: int) -> None:
        """A transfer has failed: only the server knows another source of the object.

        Until it names one, or drops the object, the object is known here: a task that reads it may
        be on its way.
        """
        target = self.fetches.take(fetch)
        if target is None:
            return
        target.move(ObjectMove.MISS)
        if is_far(target.source):
            self._drop_far(target)
        self._outbox.update.unfetched.append(target.id)
        self.settle(target)

    def shut_out(self, fetch: int) -> DataObject | None:
        """A transferred object could not be stored here, but the server still relies on it.

        The caller must end the tasks that wait for it. A later reader causes a new fetch.
        """
        target = self.fetches.take(fetch)
        if target is not None:
            target.move(ObjectMove.SHUT_OUT)
        return target

    def shut_out_next(self) -> DataObject | None:
        """Like `shut_out`, for the next object to fetch, which has waited for room for too long."""
        target = self.fetches.take_next()
        if target is not None:
            target.move(ObjectMove.SHUT_OUT)
        return target

    # Outputs of tasks.

    def expect(self, session: Session, object_id: ObjectId, kind: ObjectKind) -> DataObject:
        """A task that makes the object was assigned here; the caller must set the producer."""
        target = session.objects.get(object_id)
        if target is not None and target.row is ObjectRow.LINGERING:
            self.forget(target)
            target = None
        if session.unmade:
            session.unmade.pop(object_id, None)
        if target is None:
            target = DataObject(object_id, kind, session, ObjectRow.MAKING, wanted=True)
            session.objects[object_id] = target
            return target
        if target.producer is not None:
            raise ProtocolError(f"two tasks make the object {spell(object_id)}")
        target.wanted, target.lent = True, False
        if target.row is not ObjectRow.HELD:
            self.fetches.stop(target)
            target.move(ObjectMove.ASSIGN)
            self._drop_far(target)  # it may get other bytes
        return target

    def made(
        self, target: DataObject, content: Content, size: int, content_type: str, user: str
    ) -> None:
        """The producer has made the object."""
        target.producer = None
        if target.row is ObjectRow.HELD:
            self.files.let_go(content)
        else:
            target.move(ObjectMove.MAKE)
            target.user = user
            self._fill(target, content, size, content_type)
        self.settle(target)

    def made_bytes(self, target: DataObject, data: bytes) -> None:
        """Like `made`, for the common case of plain bytes and no held copy."""
        target.move(ObjectMove.MAKE)
        target.producer = None
        target.content = data
        target.size = len(data)
        if target.waiting is not None:
            self.wake(target)
        if not target.wanted:
            self.settle(target)

    def absent(self, session: Session, object_id: ObjectId, kind: ObjectKind) -> DataObject:
        """A task reads an output of a task that has failed here; the caller must make it wait."""
        target = session.objects[object_id] = DataObject(object_id, kind, session, ObjectRow.ABSENT)
        return target

    def unmade(self, target: DataObject) -> None:
        """The producer has failed or was stopped: the server does not expect the object here."""
        target.producer = None
        if target.row is not ObjectRow.HELD:
            target.wanted = False
            target.move(ObjectMove.UNMAKE)
        self.settle(target)

    # Content.

    def _fill(self, target: DataObject, content: Content, size: int, content_type: str) -> None:
        target.content = content
        target.size = size
        target.content_type = content_type
        if isinstance(content, int):
            self.files.hold(content, size, target)
        self.wake(target)

    def wake(self, target: DataObject) -> None:
        """The object is here: tasks that missed nothing else are ready."""
        waiting = target.waiting
        if waiting is None:
            return
        target.waiting = None
        for task in waiting:
            task.missing -= 1
            if not task.missing:
                task.move(TaskMove.INPUTS_HERE)
                if task.kind.cache:
                    self.caching.ask(task)
                elif task.row is _READY:  # else it is already at an executor
                    task.group.push(task)

    # Needs.

    def read(self, target: DataObject, task: Task) -> None:
        """A live task names the object as an input."""
        target.consumers += 1
        if type(target.content) is int:
            self.files.use(target.content)
        if target.row is ObjectRow.LINGERING:
            self.take_back(target)
        elif target.row is not ObjectRow.HELD:
            if target.row is ObjectRow.UNSTORED:
                target.move(ObjectMove.ORDER)
                self.fetches.queue.add(target)
            elif target.row is ObjectRow.FAR:
                self.recall(target)
            task.missing += 1
            if target.waiting is None:
                target.waiting = []
            target.waiting.append(task)
            if target.row is ObjectRow.REMOTE:
                self.fetches.queue.prefer(target, task.rank)

    def recall(self, target: DataObject) -> None:
        """A far object is to be fetched: tasks read it."""
        target.move(ObjectMove.RECALL)
        target.source = f"{FAR}{target.far}"
        self.fetches.queue.add(target)

    def unread(self, target: DataObject, task: Task) -> None:
        """A task that reads the object has ended in any way; called once per use of the object."""
        target.consumers -= 1
        if not target.consumers:
            target.lent = False
        if target.waiting is not None and task in target.waiting:
            target.waiting.remove(task)
            if not target.waiting:
                target.waiting = None
        self.settle(target)

    def take_back(self, target: DataObject) -> None:
        """A lingering object is wanted again."""
        target.move(ObjectMove.ORDER)
        self.lingering.remove(target)

    def settle(self, target: DataObject) -> None:
        """Releases an object if it is not needed."""
        if target.wanted or target.consumers or target.lent:
            return
        row = target.row
        if row is _HELD:
            if target.producer is not None:
                return  # it is made again because of its siblings, and wanted with them
            if target.kind.content_type == LISTED:
                self.forget(target)  # the next one names other places
                return
            target.move(ObjectMove.UNWANT)
            for going in self.lingering.add(target, self.now):
                self.forget(going)
        elif row in _NOT_HERE:
            self.fetches.stop(target)
            target.move(ObjectMove.UNWANT)
            self._drop_far(target)
            del target.session.objects[target.id]

    def expire(self) -> None:
        """Removes objects that have lingered long enough."""
        for target in self.lingering.due(self.now):
            self.forget(target)

    def clear_lingering(self, free: float) -> None:
        """The disk has `free` bytes left: removes lingering objects before it gets full."""
        if free == self.lingering.free:
            return
        self.lingering.free = free
        for target in self.lingering.surplus():
            self.forget(target)

    def reclaim(self) -> None:
        """The disk is full: removes all lingering objects."""
        for target in list(self.lingering.times):
            self.forget(target)

    def _drop_far(self, target: DataObject) -> None:
        """The copy in the far store is not wanted any more, if there is one."""
        if target.far:
            self._outbox.far_files.append(target.far)
            target.far = 0

    def forget(self, target: DataObject) -> None:
        """Removes an object from memory and from the tables."""
        del target.session.objects[target.id]
        self._let_go(target)

    def forget_all(self, session: Session) -> None:
        """Forgets a whole session."""
        objects, session.objects = session.objects, {}
        for target in objects.values():
            self._let_go(target)

    def _let_go(self, target: DataObject) -> None:
        row = target.row
        if row is _LINGERING and target in self.lingering:
            self.lingering.remove(target)
        elif row is _PULLING:
            self.fetches.stop(target)
        target.move(ObjectMove.FORGET)
        self._drop_far(target)
        if isinstance(target.content, int):
            self.files.leave(target.content, target)
        target.content = None
        target.producer = target.waiting = None  # breaks the reference cycle with its tasks
        if target.cached_by is not None:
            for executor in target.cached_by:
                del executor.cached[target.id]
                self._outbox.dropped.setdefault(executor.id, []).append(target.id)
            target.cached_by = None
