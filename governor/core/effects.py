"""The effects of the governor's reactor: what the border has to do, in this order, after a turn.

They are plain values. What concerns many tasks is batched: one `CallExecutor` for each executor and
turn.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import Factory, define, frozen

from rain.base.caching import Key
from rain.base.environment import Environment
from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.update import Update
from rain.governor.core.results import Content

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
    environment: Environment | None = None  # it is made first, if that was not done yet
    folders: tuple[Content, ...] = ()  # its content, in order; may be missing when it was made


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
class FetchObject:
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
    """Delete these files and folders of the store; answered by `FilesDeleted` if `tell` says so."""

    files: list[int]
    tell: bool = False


@frozen
class SendFar:
    """Copy a file into the far store, under a number there; answered by `SentFar`."""

    number: int
    file: int
    size: int


@frozen
class DeleteFar:
    """Delete these files of the far store."""

    numbers: list[int]


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
"""Effects on a single executor, except for its calls."""

CacheEffect = LookUp | KeepOutputs

TierEffect = CopyToDisk | LeaveMemory | DropCopy

StorageEffect = CacheEffect | TierEffect | DeleteFiles | SendFar | DeleteFar
"""Effects on stored data."""

RareEffect = (
    ExecutorEffect | StorageEffect | RunBuiltin | StopBuiltin | FetchObject | StopFetch | EndStrays
)
"""All effects but the two that occur for every task."""

Effect = CallExecutor | SendUpdate | RareEffect
