"""The data objects of a governor: which are here, which are coming, and when they go.

An object is needed while the server counts on a copy here (`wanted`), while live tasks read it
(`consumers`), and from the time when it was `lent` to a task until that one has ended. What is not
needed and not here is forgotten at once. What is here lingers for some seconds, since the next task
often wants just what the last one let go; when the server names it again, it is taken back without
a transfer. The content of an object never changes: a copy that is held stays, whoever else makes or
sends the same object.
"""

from __future__ import annotations

from collections import deque

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.governor.lingering import Lingering
from rain.governor.messages import Content, Fetch, StopFetch, Stored
from rain.governor.nodes import DataObject, Session, Task
from rain.governor.outbox import Outbox
from rain.governor.shared_files import SharedFiles
from rain.governor.tables import ObjectMove, ObjectRow, TaskMove, TaskRow

FETCHES_AT_ONCE = 8

_HELD = ObjectRow.HELD
_LINGERING = ObjectRow.LINGERING
_PULLING = ObjectRow.PULLING
_READY = TaskRow.READY


class Objects:
    """Moves objects along their table, and keeps the lists that belong to the rows."""

    def __init__(self, outbox: Outbox, linger_seconds: float) -> None:
        self._outbox = outbox
        self.now = 0.0
        self.lingering = Lingering(linger_seconds)
        self.queue: deque[DataObject] = deque()  # remote ones in order; others there are skipped
        self.fetches: dict[int, DataObject] = {}  # those being pulled, by the name of the fetch
        self._fetch_count = 0
        self.files = SharedFiles(outbox)

    # What the server says.

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

        Of what came along it knows that it has arrived with this message.
        """
        target = session.objects.get(object_id)
        if target is None:
            target = DataObject(object_id, kind, session, ObjectRow.GONE)
            session.objects[object_id] = target
        target.wanted, target.lent = True, False
        row = target.row
        if row is ObjectRow.HELD or row is ObjectRow.LINGERING:
            if row is ObjectRow.LINGERING:
                self.take_back(target)
            if source:
                self._outbox.update.located.append(object_id)
        elif row is ObjectRow.MAKING:
            return  # it will be reported with the task that makes it
        elif source == "":
            self._end_fetch(target)
            target.move(ObjectMove.GIVE)
            self._fill(target, data, len(data), content_type)
            self.settle(target)
        elif row is not ObjectRow.PULLING or target.source != source:
            self._end_fetch(target)
            target.move(ObjectMove.ORDER)
            target.content_type, target.size, target.source = content_type, size, source
            if row is not ObjectRow.REMOTE:
                self.queue.append(target)

    def lend(
        self,
        session: Session,
        object_id: ObjectId,
        kind: ObjectKind,
        content_type: str,
        data: bytes,
    ) -> None:
        """It comes with a task that reads it; the server keeps no account of this copy."""
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
            self._end_fetch(target)
            target.move(ObjectMove.GIVE)
            self._fill(target, data, len(data), content_type)

    def drop(self, session: Session, object_id: ObjectId) -> None:
        """The server does not count on this copy any more. What is not here needs no dropping."""
        target = session.objects.get(object_id)
        if target is not None:
            target.wanted = False
            self.settle(target)

    # Transfers.

    def start_fetches(self) -> None:
        """Starts what may be fetched now, oldest first."""
        queue, fetches = self.queue, self.fetches
        while queue and len(fetches) < FETCHES_AT_ONCE:
            target = queue.popleft()
            if target.row is not ObjectRow.REMOTE:
                continue
            target.move(ObjectMove.PULL)
            self._fetch_count += 1
            target.fetch = self._fetch_count
            fetches[target.fetch] = target
            fetch = Fetch(target.fetch, target.id, target.source, target.size, target.kind)
            self._outbox.effects.append(fetch)

    def fetched(self, fetch: int, content: bytes | Stored) -> None:
        """A transfer is complete; one that nobody waits for is thrown away."""
        target = self.fetches.pop(fetch, None)
        if target is None:
            self.files.discard(content)
            return
        target.move(ObjectMove.ARRIVE)
        if isinstance(content, bytes):
            self._fill(target, content, len(content), target.content_type)
        else:
            self._fill(target, content.file, content.size, target.content_type)
        self._outbox.update.located.append(target.id)
        self.settle(target)

    def fetch_failed(self, fetch: int) -> None:
        """A transfer was given up: only the server knows where else the object is."""
        target = self.fetches.pop(fetch, None)
        if target is None:
            return
        target.move(ObjectMove.MISS)
        target.wanted = False
        self._outbox.update.unfetched.append(target.id)
        self.settle(target)

    def shut_out(self, fetch: int) -> DataObject | None:
        """What a transfer has brought could not be stored here; the server still counts on it.

        Whoever waits for it is the caller's to end. Who reads it later lets it be fetched again.
        """
        target = self.fetches.pop(fetch, None)
        if target is not None:
            target.move(ObjectMove.SHUT_OUT)
        return target

    def _end_fetch(self, target: DataObject) -> None:
        if target.row is ObjectRow.PULLING:
            del self.fetches[target.fetch]
            self._outbox.effects.append(StopFetch(target.fetch))

    # Outputs of tasks.

    def expect(self, session: Session, object_id: ObjectId, kind: ObjectKind) -> DataObject:
        """A task that makes the object was assigned here; the caller sets the producer."""
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
            self._end_fetch(target)
            target.move(ObjectMove.ASSIGN)
        return target

    def made(
        self, target: DataObject, content: Content, size: int, content_type: str, user: str
    ) -> None:
        """The producer has succeeded."""
        target.producer = None
        if target.row is ObjectRow.HELD:
            self.files.let_go(content)
        else:
            target.move(ObjectMove.MAKE)
            target.user = user
            self._fill(target, content, size, content_type)
        self.settle(target)

    def made_bytes(self, target: DataObject, data: bytes) -> None:
        """The same for the common case: plain bytes, and nothing held before."""
        target.move(ObjectMove.MAKE)
        target.producer = None
        target.content = data
        target.size = len(data)
        if target.waiting is not None:
            self.wake(target)
        if not target.wanted:
            self.settle(target)

    def absent(self, session: Session, object_id: ObjectId, kind: ObjectKind) -> DataObject:
        """A task reads what another one here has failed to make; the caller makes it wait."""
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
                if task.row is _READY:  # else it is in the hands of an executor already
                    task.kind.group.push(task)

    # Who needs what.

    def read(self, target: DataObject, task: Task) -> None:
        """A live task names the object as an input."""
        target.consumers += 1
        if target.row is ObjectRow.LINGERING:
            self.take_back(target)
        elif target.row is not ObjectRow.HELD:
            if target.row is ObjectRow.UNSTORED:
                target.move(ObjectMove.ORDER)
                self.queue.append(target)
            task.missing += 1
            if target.waiting is None:
                target.waiting = []
            target.waiting.append(task)

    def unread(self, target: DataObject, task: Task) -> None:
        """A task that named the object has ended, in whatever way; called once per naming."""
        target.consumers -= 1
        if not target.consumers:
            target.lent = False
        if target.waiting is not None and task in target.waiting:
            target.waiting.remove(task)
            if not target.waiting:
                target.waiting = None
        self.settle(target)

    def take_back(self, target: DataObject) -> None:
        """What lingers is wanted again."""
        target.move(ObjectMove.ORDER)
        self.lingering.remove(target)

    def settle(self, target: DataObject) -> None:
        """Lets go of an object that nobody needs."""
        if target.wanted or target.consumers or target.lent:
            return
        row = target.row
        if row is _HELD:
            if target.producer is not None:
                return  # it is made anew for the sake of its siblings, and wanted with them
            target.move(ObjectMove.UNWANT)
            for going in self.lingering.add(target, self.now):
                self.forget(going)
        elif row in (ObjectRow.REMOTE, ObjectRow.PULLING, ObjectRow.ABSENT, ObjectRow.UNSTORED):
            self._end_fetch(target)
            target.move(ObjectMove.UNWANT)
            del target.session.objects[target.id]

    def expire(self) -> None:
        """Forgets what has lingered long enough."""
        for target in self.lingering.due(self.now):
            self.forget(target)

    def heed(self, free: float) -> None:
        """The disk has `free` bytes left: what lingers makes room before that is too little."""
        self.lingering.free = free
        for target in self.lingering.surplus():
            self.forget(target)

    def reclaim(self) -> None:
        """The disk is full: nothing lingers any more."""
        for target in list(self.lingering.times):
            self.forget(target)

    def forget(self, target: DataObject) -> None:
        """Not here and not known any more."""
        del target.session.objects[target.id]
        self._let_go(target)

    def forget_all(self, session: Session) -> None:
        """The whole session is not known any more."""
        objects, session.objects = session.objects, {}
        for target in objects.values():
            self._let_go(target)

    def _let_go(self, target: DataObject) -> None:
        row = target.row
        if row is _LINGERING and target in self.lingering:
            self.lingering.remove(target)
        elif row is _PULLING:
            self._end_fetch(target)
        target.move(ObjectMove.FORGET)
        if type(target.content) is bytes:
            target.content = None
        elif target.content is not None:
            self.files.let_go(target.content)
            target.content = None
        if target.cached_by is not None:
            for executor in target.cached_by:
                del executor.cached[target.id]
                self._outbox.dropped.setdefault(executor.id, []).append(target.id)
            target.cached_by = None
