"""Writes what a governor says to its Python executors, and reads what they say.

The protocol is described in `rain/base/executor_protocol.py`. Calls go down as frames. Answers come
up and become columns. They come from a process that runs user code, so nothing in them is trusted:
an answer that makes no sense raises `ProtocolError`, and the executor is killed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard

import msgpack
from attrs import evolve, frozen

from rain.base import executor_protocol as protocol
from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId, TaskId
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.runs import RunCause
from rain.base.wire.update import MOST_SECONDS, TaskNote
from rain.common.notes import NOTES_LIMIT
from rain.common.printed import HEAD, TAIL, KeptText, Streams, logs_of
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import CallsDone
from rain.governor.core.results import NOT_RUN, Failed, Made, NotRun, Outputs, PassedOn, Stored
from rain.governor.storage.errors import StoreError, not_stored

LARGEST_ANSWER = 1 << 30


class Adopts(Protocol):
    """A store, which takes the files of an executor."""

    def adopt(self, path: Path) -> Stored:
        """Takes a file or folder; `StoreError` if it cannot."""
        ...

    def adopts_at_once(self, path: Path) -> bool:
        """Whether `adopt` takes no longer than moving a file."""
        ...

    def discard(self, outputs: Outputs) -> None:
        """Removes what it has taken of these."""
        ...


LOOK: Final[bytes] = msgpack.packb([protocol.LOOK])
BLOCKED: Final[bytes] = msgpack.packb([protocol.BLOCKED])
RESUMED: Final[bytes] = msgpack.packb([protocol.RESUMED])

_IDS_END = 1 << 63

_SIZE_WORD = 6
"""The place of the size of an output that has no room, behind the error text."""

_NOT_YET = Stored(0, 0)
"""A placeholder for an output that has not been adopted yet."""

_NONE: Final = ()
_pack = msgpack.Packer(autoreset=True).pack


def calls_frame(effect: CallExecutor, epoch: int) -> bytes:
    """Encodes calls and what the executor needs to read them. The rows are sent as they are."""
    frame: list[Any] = [
        protocol.CALLS,
        epoch,
        [_task_kind(kind) for kind in effect.task_kinds] if effect.task_kinds else _NONE,
        [_object_kind(kind) for kind in effect.object_kinds] if effect.object_kinds else _NONE,
        effect.remembered,
        effect.calls,
        effect.gpus,
    ]
    return _pack(frame)


def drop_frame(effect: DropCached) -> bytes:
    """Encodes the list of objects and sessions that the executor may forget."""
    return _pack([protocol.DROP, effect.objects, effect.sessions])


def _task_kind(kind: TaskKind) -> protocol.TaskKindRow:
    return protocol.TaskKindRow(
        kind.id,
        kind.task_type,
        kind.name,
        list(kind.resources.items()),
        list(kind.input_labels),
        list(kind.outputs),
        kind.user,
        kind.attempts.retry_on,
    )


def _object_kind(kind: ObjectKind) -> protocol.ObjectKindRow:
    return protocol.ObjectKindRow(
        kind.id, kind.label, kind.content_type, kind.data_type.value, kind.user
    )


def registers(frame: bytes, number: int) -> bool:
    """Whether a frame is the registration of the executor with this number."""
    try:
        message: Any = msgpack.unpackb(frame)
    except (ValueError, msgpack.UnpackException):
        return False
    return bool(message == [protocol.REGISTER, protocol.PROTOCOL, number])


@frozen
class StagedOutput:
    """An output that is a file or folder of the executor and has not been adopted yet."""

    task: int  # its index in `CallsDone`
    output: int
    path: Path


def adopt_all(done: CallsDone, staged: Iterable[StagedOutput], store: Adopts) -> CallsDone:
    """Adopts the staged outputs; a task whose output cannot be stored has failed."""
    for one in staged:
        result = done.results[one.task]
        if not isinstance(result, list):
            continue  # another output of it could not be stored
        made = result[one.output]
        assert isinstance(made, Made)
        try:
            result[one.output] = evolve(made, content=store.adopt(one.path))
        except StoreError as error:
            _discard(store, result)
            done.results[one.task] = not_stored(error)
    return done


class AnswerReader:
    """Reads the answers of one executor, which arrive in pieces."""

    def __init__(
        self,
        executor: int,
        stages: Collection[Path],
        store: Adopts,
    ) -> None:
        self._executor = executor
        self._stages = stages
        self._store = store
        self._put_off: list[tuple[int, Path]] = []  # for the row that is being read
        self._staged: list[StagedOutput] = []
        self._unpacker = msgpack.Unpacker(max_buffer_size=LARGEST_ANSWER)

    def feed(self, data: bytes) -> CallsDone | None:
        """Returns the answers that this piece completes, or None."""
        try:
            self._unpacker.feed(data)
        except msgpack.BufferFull:
            raise self._nonsense(f"more than {LARGEST_ANSWER} bytes at once") from None
        return self._done(self._unpacker)

    def take_staged(self) -> list[StagedOutput]:
        """Returns the outputs of the last answers that have not been adopted yet."""
        staged, self._staged = self._staged, []
        return staged

    def _done(self, rows: Iterable[Any]) -> CallsDone | None:
        done = CallsDone(self._executor, [], [], [])
        tasks, starts, durations, results = done.tasks, done.starts, done.durations, done.results
        self._put_off.clear()  # of an answer in a wrong form
        try:
            for row in rows:
                task, start, end, result, *words = row
                seconds = end - start
                if (
                    type(task) is not int
                    or type(seconds) is not float
                    or not 0 <= seconds <= MOST_SECONDS
                    or not -MOST_SECONDS <= start <= MOST_SECONDS
                ):
                    raise ProtocolError(f"the executor {self._executor} answers {row!r:.200}")
                tasks.append(TaskId(task))
                starts.append(start)
                durations.append(seconds)
                results.append(result if _is_plain(result) else self._result(result, words))
                if self._put_off:
                    place = len(results) - 1
                    self._staged += [StagedOutput(place, *one) for one in self._put_off]
                    self._put_off.clear()
                if words:
                    _note(done, TaskId(task), result, words)
        except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
            raise self._nonsense(error) from None
        return done if tasks else None

    def _nonsense(self, error: Exception | str) -> ProtocolError:
        return ProtocolError(f"the executor {self._executor} answers nonsense: {error}")

    def _result(self, result: Any, words: list[Any]) -> Outputs | Failed | NotRun:
        if result is None:
            return NOT_RUN
        if type(result) is str:
            debug = str(words[0]) if words else ""
            retryable = len(words) < 5 or words[4] is not True
            if len(words) > _SIZE_WORD:
                size = _size(words[_SIZE_WORD])
                return Failed(result, debug, RunCause.NOT_STARTED, disk=size)
            cause = RunCause.INPUT_LOST if words[5:] == [True] else RunCause.TASK
            return Failed(result, debug, cause, _exception(words), retryable=retryable)
        if isinstance(result, dict):
            answer: dict[str, Any] = result
            return Failed("", handed_on=_contents(answer[protocol.HANDED_ON]))
        made: Outputs = []
        try:
            for place, output in enumerate(result):
                made.append(self._output(place, output))
        except StoreError as error:
            _discard(self._store, made)
            return not_stored(error)
        return made

    def _output(self, place: int, output: Any) -> bytes | Made:
        if type(output) is bytes:
            return output
        what, content, content_type, user, *contents = output
        made: bytes | Stored | PassedOn
        if what == protocol.BYTES and type(content) is bytes:
            made = content
        elif what == protocol.INPUT and type(content) is int:
            made = PassedOn(ObjectId(content))
        elif what == protocol.FILE and type(content) is str:
            made = self._file(place, Path(content))
        else:
            raise ProtocolError(f"the executor {self._executor} answers {output!r:.200}")
        content_type, user = _text(content_type), _text(user)
        return Made(made, content_type, user, _contents(*contents))

    def _file(self, place: int, path: Path) -> Stored:
        if path.parent not in self._stages:
            raise ProtocolError(
                f"the executor {self._executor} returns {path}, which is not its own"
            )
        if self._store.adopts_at_once(path):
            return self._store.adopt(path)
        self._put_off.append((place, path))
        return _NOT_YET


def _discard(store: Adopts, outputs: Outputs) -> None:
    """A task has failed because one of its outputs cannot be stored: removes the others."""
    store.discard([one for one in outputs if isinstance(one, Made) and one.content is not _NOT_YET])


def _size(said: Any) -> int:
    """The size of an output that has no room."""
    if type(said) is not int or not 0 < said < _IDS_END:
        raise ValueError(f"{said!r:.200} is no size")
    return said


def _contents(inside: Sequence[Any] = ()) -> tuple[ObjectId, ...]:
    """The objects of the futures inside of an output."""
    if any(type(one) is not int or not 0 < one < _IDS_END for one in inside):
        raise ValueError(f"{inside!r:.200} are no ids of objects")
    return tuple(map(ObjectId, inside))


def _text(text: Any) -> str:
    """A content type, or notes of the user, which travel whole."""
    if type(text) is not str or len(text) > NOTES_LIMIT:
        raise ValueError(f"{text!r:.200} is no text of at most {NOTES_LIMIT} characters")
    return text


def _note(done: CallsDone, task: TaskId, result: Any, words: list[Any]) -> None:
    """Debug lines, the user's notes and what was printed; the first go with a failure itself."""
    debug, user = str(words[0]), _text(words[1])
    logs = ""
    if len(words) > 2 and words[2]:
        streams = _streams(words[2])
        done.printed.append((task, streams))
        logs = logs_of(streams)
    if type(result) is not str:
        done.notes.append(TaskNote(task, user, debug, logs))
    elif logs:
        done.notes.append(TaskNote(task, logs=logs))


def _streams(row: Any) -> Streams:
    """The output of the call."""
    (out, out_size), (err, err_size) = row
    for data, size in ((out, out_size), (err, err_size)):
        if type(data) is not bytes or type(size) is not int or len(data) != min(size, HEAD + TAIL):
            raise ValueError(f"{row!r:.200} is nothing that was printed")
    return KeptText(out, out_size), KeptText(err, err_size)


def _exception(words: list[Any]) -> bytes:
    """The pickled exception of a failure, if it was sent."""
    exception = words[3] if len(words) > 3 else b""
    if type(exception) is not bytes or len(exception) > NOTES_LIMIT:
        raise ValueError(f"{exception!r:.200} is no pickled exception")
    return exception


def _is_plain(result: Any) -> TypeGuard[Outputs]:
    """Whether all outputs are plain bytes, which is nearly always so."""
    if type(result) is not list:
        return False
    outputs: list[Any] = result
    for output in outputs:  # noqa: SIM110 # a generator would cost more than all the rest
        if type(output) is not bytes:
            return False
    return True
