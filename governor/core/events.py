"""The events of the governor's reactor: what has happened since the last turn, in the past tense.

They are plain values, so a run consists of its events and can be replayed. What concerns many tasks
is batched: one `CallsDone` for each executor and turn.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import Factory, define, frozen

from rain.base.caching import Key
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.orders import Orders
from rain.base.wire.update import Monitoring, TaskNote
from rain.common.printed import NOTHING, Streams
from rain.governor.core.results import Failed, NotRun, Outputs, Stored


@define
class OrdersReceived:
    """Orders of the server; the columns were checked when they were received."""

    orders: Orders


@frozen
class ExecutorReady:
    """An executor has registered."""

    executor: int


@frozen
class CallWaits:
    """The running call of an executor waits for other tasks, or goes on."""

    executor: int
    waits: bool


@define
class CallsDone:
    """An executor has answered its oldest calls, in the order in which it got them; in columns."""

    executor: int
    tasks: list[TaskId]
    durations: list[float]
    results: list[Outputs | Failed | NotRun]
    notes: list[TaskNote] = Factory(list)
    printed: list[tuple[TaskId, Streams]] = Factory(list)  # of those that have printed anything
    starts: list[float] = Factory(list)  # when each began; none if they are unknown
    peaks: list[int] = Factory(list)  # the most memory of each, as far as it is known
    mapped: int = 0  # bytes of files in the memory of the executor that `peaks` leave out


@frozen
class ObjectsCached:
    """An executor remembers these objects of a call that it has answered."""

    executor: int
    objects: list[ObjectId]


@frozen
class CallsTakenBack:
    """The newest `count` calls of an executor were not started, and will not be."""

    executor: int
    unstarted: int


@frozen
class ProcessesLeft:
    """The call that was interrupted has ended, and what it has started has not; the answer follows.

    Whatever the executor has started before counts as started by this call.
    """

    executor: int


@frozen
class KernelKill:
    """The kernel has killed a process for lack of memory."""

    wall: int = 0  # the limit of the control group of all tasks; 0 if others had no memory left
    shared: int = 0  # bytes of shared memory, and of files in memory, in that group


@frozen
class ExecutorDied:
    """An executor process has ended; its answers were reported before.

    The newest `unstarted` calls were not started.
    """

    executor: int
    cause: str  # exit code or signal, and the tails of its logs
    unstarted: int = 0
    place: int = 0  # of the call of a unit that was running, from 1
    printed: Streams = (NOTHING, NOTHING)  # by the running task
    short: bool = False  # the machine lacks something to start it, or for its part of the work
    status: int | None = None  # its exit code; of a signal the negative number
    by_kernel: KernelKill | None = None
    without_environment: bool = False  # it was not started, because its environment is not made


@frozen
class ObjectFetched:
    """A fetch has received a whole object."""

    fetch: int
    content: bytes | Stored


@frozen
class FetchFailed:
    """A fetch has failed: the source does not have the object or does not answer."""

    fetch: int
    reason: str
    here: bool = False  # the source sent it, but it cannot be stored here


@frozen
class BuiltinDone:
    """A run inside the governor has ended, whether or not it was stopped."""

    run: int
    duration: float
    result: Outputs | Failed
    logs: str = ""  # what it has printed
    by_kernel: KernelKill | None = None  # then the result only says so


@frozen
class BuiltinPrepared:
    """The environment of a run inside the governor is there: its own work begins."""

    run: int


@frozen
class LookedUp:
    """The cache has the outputs of a task, or says why not."""

    asked: int
    outputs: Outputs | None
    why: str
    key: Key | None = None  # under which its outputs shall be kept; None if they cannot be


@frozen
class OutputsKept:
    """The cache has kept the outputs of a task, or could not."""

    number: int


@frozen
class CopyMade:
    """A file was copied from shared memory to the disk; or could not be, for this reason."""

    file: int
    reason: str = ""


@frozen
class SentFar:
    """A file was copied into the far store; or could not be, for this reason."""

    number: int
    file: int
    reason: str = ""


@frozen
class FilesDeleted:
    """Files are gone for which the reactor waits: their room can be used."""

    files: list[int]


@frozen
class Sampled:
    """A periodic sample of the load of the machine."""

    monitoring: Monitoring


@frozen
class MemorySampled:
    """The bytes of memory that executors, and runs inside the governor, have of their own now."""

    executors: dict[int, int]
    runs: dict[int, int]
    left: int = -1  # that the machine can give to anybody; -1 if it does not say so
    # How many processes those have that have too many, and how many they may have.
    crowds: dict[int, int] = Factory(dict)
    crowds_of_runs: dict[int, int] = Factory(dict)
    most: int = 0
    mapped: dict[int, int] = Factory(dict)  # bytes of files that are in the memory of executors


@frozen
class Drain:
    """The governor is going to leave: it starts nothing any more."""


@frozen
class Tick:
    """Time has passed."""


ExecutorEvent = (
    ExecutorReady | ObjectsCached | CallsTakenBack | CallWaits | ProcessesLeft | ExecutorDied
)
"""The actions of an executor, except for its answers."""

CacheEvent = LookedUp | OutputsKept

FileEvent = CacheEvent | CopyMade | FilesDeleted | SentFar

RareEvent = (
    ExecutorEvent
    | FileEvent
    | ObjectFetched
    | FetchFailed
    | BuiltinPrepared
    | BuiltinDone
    | Sampled
    | MemorySampled
    | Drain
    | Tick
)
"""All events but the two that occur for every task."""

Event = OrdersReceived | CallsDone | RareEvent

Tell = Callable[[Event], object]
"""Adds an event to those of the next turn."""
