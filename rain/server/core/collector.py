"""Collects happenings during turns, for the event log.

The functions of a turn append small values here if the event log is on (`State.happenings`). They
are taken after some turns, and another process formats them.

A stalled disk must not fill the memory: beyond `limit` bytes, happenings per task are only counted,
and beyond twice the limit all happenings are.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from rain.base.failures import SessionFailure
from rain.base.ids import ClientId, KindId, ObjectId, is_of_server
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.submission import Submission
from rain.graph import DataObject, Governor, Run, Session, Task
from rain.server.core.happenings import (
    Batch,
    ClientInvalidRequest,
    ClientSubmit,
    ClientUnkeep,
    Happening,
    ObjectsFinished,
    RunFailed,
    Taken,
    TaskFailed,
    TaskNotes,
    TasksFinished,
    TasksSkipped,
    TasksStarted,
)

DEFAULT_LIMIT = 64 * 1024 * 1024
TASK_BYTES = 160  # measured size of a task in the columns
_ID_BYTES = 40  # size of an id that is told alone
_SMALL_BYTES = 500  # size of any other happening


@define(eq=False)
class Happenings:
    """Collects happenings until they are taken.

    Happenings per task are added to the newest batch of their type while it is of the same turn and
    governor. A start is always written before the end of the same task.
    """

    with_objects: bool = False  # also log finished data objects: one more event per output
    limit: int = DEFAULT_LIMIT
    bytes: int = field(init=False, default=0)
    _list: list[Happening] = field(init=False, factory=list)
    _lost: int = field(init=False, default=0)
    _started: TasksStarted | None = field(init=False, default=None)
    _finished: TasksFinished | None = field(init=False, default=None)
    _objects: ObjectsFinished | None = field(init=False, default=None)

    def take(self) -> Taken:
        """Returns all happenings and clears them."""
        taken = Taken(self._list, self._lost)
        self._list, self._lost, self.bytes = [], 0, 0
        self._started = self._finished = self._objects = None
        return taken

    def add(self, happening: Happening, size: int = 0) -> None:
        """Adds a rare happening; `size` is the length of its texts."""
        self._add(happening, size, 2 * self.limit)

    def refused(self, now: float, client: ClientId, reason: str) -> None:
        """A request of a client was refused."""
        self._add(ClientInvalidRequest(now, client, reason), len(reason), self.limit)

    def submitted(self, now: float, session: Session, submission: Submission) -> None:
        """A submission was accepted."""
        columns, constants = submission.tasks, submission.constants
        task_kinds: dict[KindId, TaskKind] = {}
        object_kinds: dict[KindId, ObjectKind] = {}
        for kind in dict.fromkeys(constants.kinds):
            object_kinds[kind] = session.object_kinds[kind]
        for kind in dict.fromkeys(columns.kinds):
            task_kind = task_kinds[kind] = session.task_kinds[kind]
            for output in task_kind.outputs:
                object_kinds[output] = session.object_kinds[output]
        happening = ClientSubmit(
            now,
            session.id,
            task_kinds,
            object_kinds,
            columns,
            constants.ids,
            constants.kinds,
        )
        size = TASK_BYTES * (len(columns.ids) + len(constants.ids))
        self._add(happening, size + sum(map(len, columns.configs)), self.limit)

    def unkept(self, now: float, objects: tuple[ObjectId, ...]) -> None:
        """A client does not need these objects any more."""
        self._add(ClientUnkeep(now, objects), _ID_BYTES * len(objects), self.limit)

    def task_started(self, now: float, governor: Governor, task: Task) -> None:
        """A governor has started a task."""
        batch = self._started
        if batch is None or batch.address != governor.address or batch.time != now:
            if self.bytes > self.limit:
                self._lost += 1
                return
            batch = self._started = TasksStarted(now, governor.address)
            self._open(batch)
            self._finished = None  # tasks that start now must finish in a later batch
        batch.ids.append(task.id)
        self.bytes += TASK_BYTES

    def task_finished(
        self, now: float, address: str, task: Task, run: Run, *, sudden: bool
    ) -> None:
        """The governor there has finished a task; `sudden` if its start was never reported."""
        batch = self._finished
        if batch is None or batch.address != address or batch.time != now:
            if self.bytes > self.limit:
                self._lost += 1
                return
            batch = self._finished = TasksFinished(now, address)
            self._open(batch)
        if sudden:
            batch.sudden.append(len(batch.ids))
        batch.ids.append(task.id)
        batch.starts.append(run.started)
        batch.durations.append(run.duration)
        session = task.session
        if task.user or run.debug or task.id in session.logs or session.cached:
            self._note(batch, task, run)
        self.bytes += TASK_BYTES

    def run_failed(self, now: float, task: Task, run: Run, *, again: bool) -> None:
        """A run has failed or was lost, and with it the task unless it is tried again."""
        if is_of_server(task.id):
            return  # no client knows it
        size = len(run.message) + len(run.debug)
        if again:
            self.add(RunFailed(now, task.id, run.started, run.report()), size)
            return
        logs = task.session.logs.get(task.id, "")
        notes = TaskNotes(task.user, run.debug, logs, task.session.cached.get(task.id, ""))
        end = TaskFailed(now, task.id, run.governor, run.started, run.message, notes)
        self.add(end, size + len(notes.user) + len(notes.debug) + len(logs))

    def skipped(self, now: float, failure: SessionFailure, tasks: Sequence[Task]) -> None:
        """Tasks will never run: a failure, a cancel or the lack of a governor has ended them."""
        ids = [task.id for task in tasks if not is_of_server(task.id)]
        if ids:
            error = failure.message.strip().rpartition("\n")[2]  # the end of a traceback
            happening = TasksSkipped(now, failure.task, error, ids, failure.cancelled)
            self._add(happening, TASK_BYTES * len(ids), self.limit)

    def object_finished(self, now: float, governor: Governor, made: DataObject) -> None:
        """A data object was made on a governor; called only with `with_objects`."""
        batch = self._objects
        if batch is None or batch.address != governor.address or batch.time != now:
            if self.bytes > self.limit:
                self._lost += 1
                return
            batch = self._objects = ObjectsFinished(now, governor.address)
            self._open(batch)
        batch.ids.append(made.id)
        batch.sizes.append(made.size)
        batch.content_types.append(made.content_type)
        batch.users.append(made.user)
        self.bytes += TASK_BYTES

    def _add(self, happening: Happening, size: int, limit: int) -> None:
        if self.bytes > limit:
            self._lost += 1
            return
        self._started = self._finished = self._objects = None
        self.bytes += _SMALL_BYTES + size
        self._list.append(happening)

    def _open(self, batch: Batch) -> None:
        self.bytes += _SMALL_BYTES
        self._list.append(batch)

    def _note(self, batch: TasksFinished, task: Task, run: Run) -> None:
        logs = task.session.logs.get(task.id, "")
        cache = task.session.cached.get(task.id, "")
        batch.notes[task.id] = TaskNotes(task.user, run.debug, logs, cache)
        self.bytes += _SMALL_BYTES + len(task.user) + len(run.debug) + len(logs)
