"""The events of the governor's reactor (in the past tense) and its effects.

Both are plain values, so a run consists of its events and can be replayed. Changes of many tasks
are batched: one `CallsDone` and one `CallExecutor` per executor and turn.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import Factory, define, frozen

from rain.base.caching import Key
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.runs import RunCause
from rain.base.wire.orders import Orders
from rain.base.wire.update import Monitoring, TaskNote, Update
from rain.common.printed import Streams

# The content of a data object: bytes in memory, or the number of a file or folder of the store.
Content = bytes | int


@frozen
class Stored:
    """A new file or folder of the store; `size` counts the bytes of the transport form."""

    file: int
    size: int


@frozen
class PassedOn:
    """The output is one of the inputs, unchanged."""

    object: ObjectId


@frozen
class Made:
    """An output with more than just its bytes."""

    content: bytes | Stored | PassedOn
    content_type: str = ""
    user: str = ""  # JSON
    contents: tuple[ObjectId, ...] = ()  # the objects of the futures inside of it


@frozen
class Failed:
    """The result of a task that has failed."""

    message: str
    debug: str = ""
    cause: RunCause = RunCause.TASK
    exception: bytes = b""  # its pickle, for clients that use Python
    status: int | None = None  # exit code of what has ended; of a signal the negative number
    retryable: bool = True  # the executor thinks that this is worth another try
    handed_on: tuple[ObjectId, ...] = ()  # it has ended well, and others make these for it


@frozen
class NotRun:
    """The executor did not run the call, because it does not have an input (any more)."""


NOT_RUN = NotRun()

Outputs = list[bytes | Made]


# Events.


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
    starts: list[float] = Factory(list)  # when each began; none if nobody knows
    peaks: list[int] = Factory(list)  # the most memory of each, as far as it is known


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
class ExecutorDied:
    """An executor process has ended; its answers were reported before.

    The newest `unstarted` calls were not started.
    """

    executor: int
    cause: str  # exit code or signal, and the tails of its logs
    unstarted: int = 0
    place: int = 0  # of the call of a unit that was running, from 1
    printed: Streams = ((b"", 0), (b"", 0))  # by the running task
    short: bool = False  # the machine lacks something to start it, or for its part of the work
    status: int | None = None  # its exit code; of a signal the negative number
    by_kernel: bool = False  # it was killed because the machine had no memory left


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
class Sampled:
    """A periodic sample of the load of the machine."""

    monitoring: Monitoring


@frozen
class MemorySampled:
    """The bytes of memory that executors, and runs inside the governor, have of their own now."""

    executors: dict[int, int]
    runs: dict[int, int]
    left: int = -1  # that the machine can give to anybody; -1 if it does not say so
    # How many processes those have that have too many.
    crowds: dict[int, int] = Factory(dict)
    crowds_of_runs: dict[int, int] = Factory(dict)


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

RareEvent = (
    ExecutorEvent
    | CacheEvent
    | ObjectFetched
    | FetchFailed
    | BuiltinDone
    | CopyMade
    | Sampled
    | MemorySampled
    | Drain
    | Tick
)
"""All events but the two that occur for every task."""

Event = OrdersReceived | CallsDone | RareEvent


# Effects, carried out in order.

# One input of a call: only its id if the executor already has it, else the full row: id, kind,
# detected content type, the user's JSON, size, and content.
# The content is None if an earlier call of the same executor makes it.
FullInputRow = tuple[ObjectId, KindId, str, str, int, Content | None]
InputRow = ObjectId | FullInputRow
# One call: task, kind, config, inputs, outputs. These rows are encoded into the frame unchanged.
CallRow = tuple[TaskId, KindId, bytes, list[InputRow], list[ObjectId]]


@frozen
class StartExecutor:
    """Start one executor process of this type."""

    executor: int
    runner: str


@define
class CallExecutor:
    """Send calls to one executor, with what it needs to read them."""

    executor: int
    task_kinds: list[TaskKind]
    object_kinds: list[ObjectKind]
    remembered: list[InputRow]  # objects that the executor caches until they are dropped
    calls: list[CallRow]
    gpus: tuple[str, ...] | None = None  # gpus for the calls; None on a machine without gpus
    # Inputs that an executor of another language already has; their rows are full anyway.
    held: list[ObjectId] = Factory(list)
    idle: bool = False  # the executor has answered all its earlier calls


@frozen
class TakeBackCalls:
    """Take back all calls that the executor has not started; answered by `CallsTakenBack`."""

    executor: int


@frozen
class InterruptExecutor:
    """Interrupt a call, counted from the executor's start, unless it is answered by then.

    Its answer follows, as that of any call.
    """

    executor: int
    call: int


@frozen
class RefuseWait:
    """Let a call fail that waits for other tasks, as `most` calls here do already."""

    executor: int
    call: int
    most: int


@frozen
class KillExecutor:
    """End an executor and everything that it started; answered by `ExecutorDied`."""

    executor: int


@frozen
class DropCached:
    """Tell an executor that it may forget these objects and the kinds of these sessions."""

    executor: int
    objects: list[ObjectId]
    sessions: list[SessionId]


@frozen
class BuiltinInput:
    """One input of a task that runs inside the governor."""

    id: ObjectId
    kind: ObjectKind
    content_type: str
    size: int
    content: Content


@frozen
class RunBuiltin:
    """Run a built-in task; answered by `BuiltinDone`."""

    run: int
    task: TaskId
    kind: TaskKind
    config: bytes
    inputs: tuple[BuiltinInput, ...]
    outputs: tuple[ObjectKind, ...]
    gpus: tuple[str, ...] | None = None  # gpus for the task; None on a machine without gpus


@frozen
class LookUp:
    """Ask the cache for the outputs of a task; answered by `LookedUp`."""

    asked: int
    kind: TaskKind
    config: bytes
    inputs: tuple[BuiltinInput, ...]


class OutputRow(NamedTuple):
    """An output that is to be kept."""

    content: Content
    content_type: str
    user: str
    size: int


@frozen
class KeepOutputs:
    """Keep the outputs of a task in a cache; answered by `OutputsKept`."""

    number: int
    folder: str
    key: Key
    seconds: float
    outputs: tuple[OutputRow, ...]


@frozen
class StopBuiltin:
    """The result is not wanted; interrupt it, `BuiltinDone` still follows."""

    run: int
    grace: float | None = None  # seconds to clean up; None for the usual ones
    timed_out: bool = False  # its time is over, and the answer says how it has ended


@frozen
class Fetch:
    """Read an object from a source; answered by `ObjectFetched` or `FetchFailed`."""

    fetch: int
    object: ObjectId
    source: str
    size: int
    kind: ObjectKind


@frozen
class StopFetch:
    """Stop a fetch that is no longer needed; no answer follows."""

    fetch: int


@frozen
class DeleteFiles:
    """Delete these files and folders of the store."""

    files: list[int]


@frozen
class CopyToDisk:
    """Copy a file from shared memory to the disk; answered by `CopyMade`."""

    file: int


@frozen
class LeaveMemory:
    """The copy on the disk takes the place of the file in shared memory."""

    file: int


@frozen
class DropCopy:
    """The copy on the disk is not wanted after all."""

    file: int


@frozen
class EndStrays:
    """Nothing works for these sessions any more: what their tasks have left behind is ended."""

    sessions: list[SessionId]


@define
class SendUpdate:
    """Tell the server the news of this turn."""

    update: Update


ExecutorEffect = (
    StartExecutor | TakeBackCalls | InterruptExecutor | RefuseWait | KillExecutor | DropCached
)
"""What concerns an executor, but for its calls."""

CacheEffect = LookUp | KeepOutputs

TierEffect = CopyToDisk | LeaveMemory | DropCopy

RareEffect = (
    ExecutorEffect
    | CacheEffect
    | TierEffect
    | RunBuiltin
    | StopBuiltin
    | Fetch
    | StopFetch
    | DeleteFiles
    | EndStrays
)
"""All but the two that are for every task."""

Effect = CallExecutor | SendUpdate | RareEffect
