"""Happenings: the small values that the event log is made of.

They contain copies of data and no nodes, because nodes keep changing. Happenings of every task are
stored in columns, so that each costs a few appends and no object. Their names are those of the
event log. `rain.server.core.collector` collects them, and another process formats them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence

from attrs import Factory, define, frozen

from rain.base.ids import ClientId, KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.runs import RunReport
from rain.base.wire import update
from rain.base.wire.submission import TaskColumns


class CloseReason(enum.Enum):
    """Why a session has ended."""

    CLIENT_CLOSE = "ClientClose"
    ERROR = "Error"
    SERVER_LOST = "ServerLost"


@frozen
class GovernorNew:
    """A governor has joined."""

    time: float
    governor: str


@frozen
class GovernorRemoved:
    """A governor has left, was lost or was dismissed."""

    time: float
    governor: str
    error_msg: str


@frozen
class GovernorRests:
    """A governor cannot start tasks, or fails what others finish: it gets none for a while."""

    time: float
    governor: str
    error_msg: str


@frozen
class GovernorDrains:
    """A governor is about to leave, and gets no more tasks."""

    time: float
    governor: str


@frozen
class Monitoring:
    """The load of a governor's machine."""

    time: float
    governor: str
    sample: update.Monitoring


@frozen
class ClientNew:
    """A client has joined."""

    time: float
    client: ClientId


@frozen
class ClientRemoved:
    """A client has left."""

    time: float
    client: ClientId
    error_msg: str


@frozen
class SessionNew:
    """A client has opened a session; `user` is JSON, and not the user whose session it is."""

    time: float
    session: SessionId
    client: ClientId
    name: str
    user: str
    belongs_to: str = ""  # the user of the cluster; "" is its owner


@frozen
class SessionClosed:
    """A session has ended; happens once for each session."""

    time: float
    session: SessionId
    reason: CloseReason
    message: str


@frozen
class ClientSubmit:
    """A submission was accepted. Its columns are as the client sent them."""

    time: float
    session: SessionId
    task_kinds: Mapping[KindId, TaskKind]
    object_kinds: Mapping[KindId, ObjectKind]
    tasks: TaskColumns
    constants: Sequence[ObjectId]
    constant_kinds: Sequence[KindId]


@frozen
class ClientUnkeep:
    """A client does not need these objects any more."""

    time: float
    objects: tuple[ObjectId, ...]


@frozen
class ClientInvalidRequest:
    """A request of a client was refused."""

    time: float
    client: ClientId
    error_msg: str


@frozen
class SchedulerFailed:
    """The scheduler failed, and `rain` plans instead."""

    time: float
    scheduler: str
    error_msg: str


@frozen
class TaskNotes:
    """The notes of a task; `user` is JSON."""

    user: str
    debug: str
    logs: str = ""  # what it has printed
    cache: str = ""  # what the cache has said of it


@define(eq=False)
class TasksStarted:
    """Tasks that one governor has started."""

    time: float
    address: str
    ids: list[TaskId] = Factory(list)


@define(eq=False)
class TasksFinished:
    """Tasks that one governor has finished. The start of `sudden` ones was never reported."""

    time: float
    address: str
    ids: list[TaskId] = Factory(list)
    starts: list[float] = Factory(list)
    durations: list[float] = Factory(list)
    sudden: list[int] = Factory(list)  # positions in the columns
    notes: dict[TaskId, TaskNotes] = Factory(dict)  # only of tasks with notes


@frozen
class TaskFailed:
    """A task has failed."""

    time: float
    task: TaskId
    address: str
    start: float  # 0 when its start was never told
    error: str
    notes: TaskNotes


@frozen
class RunFailed:
    """A run has failed or was lost, and its task is tried again."""

    time: float
    task: TaskId
    start: float  # 0 when its start was never told
    run: RunReport


class SecondRunState(enum.Enum):
    """The state of the second run of a late task."""

    BEGUN = "begun"
    FINISHED = "finished"  # before the first one, which is withdrawn
    STOPPED = "stopped"  # the first one was faster, or the task is not wanted any more
    FAILED = "failed"  # without consequences: the first one goes on
    LOST = "lost"  # its governor could not start it or has gone


@frozen
class SecondRun:
    """A late task has a second run beside its first one, or has had one."""

    time: float
    task: TaskId
    governor: str  # its address; empty if the second run was never told of
    state: SecondRunState
    error: str = ""


@define(eq=False)
class TasksSkipped:
    """Tasks that will never run because of a failure, or since they were cancelled.

    `cause` is the task that has failed, or the first one that was cancelled.
    """

    time: float
    cause: TaskId | None
    error: str  # the last line of the error of that task
    ids: list[TaskId] = Factory(list)
    cancelled: bool = False


@define(eq=False)
class ObjectsFinished:
    """Data objects that were made on one governor."""

    time: float
    address: str
    ids: list[ObjectId] = Factory(list)
    sizes: list[int] = Factory(list)
    content_types: list[str] = Factory(list)
    users: list[str] = Factory(list)  # JSON


Happening = (
    GovernorNew
    | GovernorRemoved
    | GovernorRests
    | GovernorDrains
    | Monitoring
    | ClientNew
    | ClientRemoved
    | SessionNew
    | SessionClosed
    | ClientSubmit
    | ClientUnkeep
    | ClientInvalidRequest
    | SchedulerFailed
    | TasksStarted
    | TasksFinished
    | TaskFailed
    | RunFailed
    | SecondRun
    | TasksSkipped
    | ObjectsFinished
)
Batch = TasksStarted | TasksFinished | TasksSkipped | ObjectsFinished


@frozen
class Taken:
    """Happenings in order, and the number of those that were not kept."""

    happenings: list[Happening]
    lost: int = 0

    @property
    def count(self) -> int:
        """The number of single happenings."""
        return sum(map(_count, self.happenings))

    def parts(self, most: int) -> Iterator[Taken]:
        """Splits them into parts of about `most` happenings."""
        part: list[Happening] = []
        count = 0
        for happening in self.happenings:
            part.append(happening)
            count += _count(happening)
            if count >= most:
                yield Taken(part)
                part, count = [], 0
        if part or self.lost:
            yield Taken(part, self.lost)


def _count(happening: Happening) -> int:
    return len(happening.ids) if isinstance(happening, Batch) else 1
