"""What the governor's reactor hears (events, in the past tense) and what it wants done (effects).

Both are plain values, so a run is its events and can be replayed. What happens to many tasks at
once is told in lists: one `CallsDone` and one `CallExecutor` per executor and turn.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.runs import RunCause
from rain.base.wire import Monitoring, Orders, TaskNote, Update

# What data objects are made of: bytes in memory, or the number of a file or folder of the store.
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
    """An output about which there is more to say than its bytes."""

    content: bytes | Stored | PassedOn
    content_type: str = ""
    user: str = ""  # JSON


@frozen
class Failed:
    """How a task ends that did not succeed."""

    message: str
    debug: str = ""
    cause: RunCause = RunCause.TASK


@frozen
class NotRun:
    """The executor did not run the call, because it does not have what it reads (any more)."""


NOT_RUN = NotRun()

Outputs = list[bytes | Made]


# Events.


@define
class OrdersReceived:
    """The server has told what to do; the columns were checked at the border."""

    orders: Orders


@frozen
class ExecutorReady:
    """An executor has registered."""

    executor: int


@define
class CallsDone:
    """An executor has answered its oldest calls, in the order in which it got them. Columns."""

    executor: int
    tasks: list[TaskId]
    durations: list[float]
    results: list[Outputs | Failed | NotRun]
    notes: list[TaskNote] = Factory(list)


@frozen
class ObjectsCached:
    """An executor has said that it remembers these objects of a call that it has answered."""

    executor: int
    objects: list[ObjectId]


@frozen
class CallsTakenBack:
    """So many of an executor's newest calls were not started, and will not be."""

    executor: int
    unstarted: int


@frozen
class ExecutorDied:
    """An executor process has ended; what it had answered was reported before.

    `unstarted` of its newest calls had not been started.
    """

    executor: int
    cause: str  # exit code or signal, and the tails of its logs
    unstarted: int = 0
    place: int = 0  # of the call that ran inside of a unit, from 1
    logs: str = ""  # what the task that it ran has printed
    short: bool = False  # it was not even started, since the machine has no room for it


@frozen
class ObjectFetched:
    """A fetch has brought all of an object."""

    fetch: int
    content: bytes | Stored


@frozen
class FetchFailed:
    """A fetch was given up: the source does not have the object or does not answer."""

    fetch: int
    reason: str
    here: bool = False  # the source has given it, but it cannot be stored here


@frozen
class BuiltinDone:
    """Something that the governor itself worked on has ended, whether or not it was stopped."""

    run: int
    duration: float
    result: Outputs | Failed
    logs: str = ""  # what it has printed


@frozen
class Sampled:
    """How busy the machine is, measured from time to time."""

    monitoring: Monitoring


@frozen
class Tick:
    """Time has passed."""


RareEvent = (
    ExecutorReady
    | ObjectsCached
    | CallsTakenBack
    | ExecutorDied
    | ObjectFetched
    | FetchFailed
    | BuiltinDone
    | Sampled
    | Tick
)
"""All but the two that come with every task."""

Event = OrdersReceived | CallsDone | RareEvent


# Effects, carried out in their order.

# One input of a call: its id when the executor holds it already, or else the whole of it: id, kind,
# content type as found, the user's JSON, size, and content.
# The content is None when a call before it in the same executor makes it.
FullInputRow = tuple[ObjectId, KindId, str, str, int, Content | None]
InputRow = ObjectId | FullInputRow
# One call: task, kind, config, inputs, outputs. These rows go into the frame as they are.
CallRow = tuple[TaskId, KindId, bytes, list[InputRow], list[ObjectId]]


@frozen
class StartExecutor:
    """Start one executor process of this type."""

    executor: int
    runner: str


@define
class CallExecutor:
    """Calls for one executor, and what it must know before it can read them."""

    executor: int
    task_kinds: list[TaskKind]
    object_kinds: list[ObjectKind]
    remembered: list[InputRow]  # objects that the executor keeps until they are dropped
    calls: list[CallRow]
    gpus: tuple[str, ...] | None = None  # what the calls may use; None where there are no gpus
    # Inputs that an executor of another language has; their rows are full all the same.
    held: list[ObjectId] = Factory(list)
    idle: bool = False  # the executor has no other calls, and has answered all that it had


@frozen
class TakeBackCalls:
    """Take back all calls that the executor has not started; answered by `CallsTakenBack`."""

    executor: int


@frozen
class KillExecutor:
    """End an executor and everything that it started; answered by `ExecutorDied`."""

    executor: int


@frozen
class DropCached:
    """The executor need not remember these objects, and the kinds of these sessions, any more."""

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
    """Work on a task of the governor's own; answered by `BuiltinDone`."""

    run: int
    task: TaskId
    kind: TaskKind
    config: bytes
    inputs: tuple[BuiltinInput, ...]
    outputs: tuple[ObjectKind, ...]
    gpus: tuple[str, ...] | None = None  # what it may use; None where there are no gpus


@frozen
class StopBuiltin:
    """Nobody wants the result; end it soon, `BuiltinDone` still follows."""

    run: int


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
    """Nobody waits for this fetch any more; no answer is needed."""

    fetch: int


@frozen
class DeleteFiles:
    """Nobody needs these files and folders of the store."""

    files: list[int]


@define
class SendUpdate:
    """Tell the server the news of this turn."""

    update: Update


ExecutorEffect = StartExecutor | TakeBackCalls | KillExecutor | DropCached
"""What concerns an executor, but for its calls."""

RareEffect = ExecutorEffect | RunBuiltin | StopBuiltin | Fetch | StopFetch | DeleteFiles
"""All but the two that are for every task."""

Effect = CallExecutor | SendUpdate | RareEffect
