"""A unit: a chain of calls, each of which reads the previous one's output (rain/base/units.py).

Every call runs like a single call, with its own context. Its output for the next call stays in this
process, without a file or a copy. A value that would have been pickled is passed on directly, and
is released after the next call.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from mmap import mmap
from typing import TYPE_CHECKING, Any

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.ids import unpack
from rain.base.units import BEFORE, InnerCall, failure_inside
from rain.common.content_type import encode_value
from rain.executor.context import Context
from rain.executor.memory import Kinds, Memory
from rain.executor.staging import StagingFolders, throw_away
from rain.executor.values import Outputs, is_instance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rain.base.ids import ID
    from rain.common.data_instance import DataInstance

_PICKLES = frozenset({"pickle", "cloudpickle"})
"""Encodings that preserve the value; others turn tuples into lists, and so on."""


class RunningMark:
    """A file with the running call of a unit, which the governor reads if this process dies."""

    def __init__(self, path: str) -> None:
        self._place: mmap | None = None
        with suppress(OSError), open(path, "x+b") as file:  # noqa: PTH123 # pathlib starts slowly
            file.write(bytes(protocol.PLACE))  # writing to a map beyond a full disk would kill us
            file.flush()
            self._place = mmap(file.fileno(), protocol.PLACE)

    def note(self, place: int) -> None:
        """Notes that the call at this place runs, or none for 0."""
        if self._place is not None:
            self._place[:] = place.to_bytes(protocol.PLACE, "little")

    def close(self) -> None:
        """Gives the file up."""
        if self._place is not None:
            self._place.close()
            self._place = None


class Unit:
    """Runs the calls of one unit in order and collects their answers."""

    def __init__(
        self, memory: Memory, stage: StagingFolders, call: protocol.Call, mark: RunningMark
    ) -> None:
        config: dict[str, Any] = msgpack.unpackb(call.config)
        calls = [InnerCall._make(row) for row in config["calls"]]
        self._given = call.inputs
        self.kind = call.kind
        self._stage = stage
        self._mark = mark
        self._configs: list[bytes] = config["configs"]
        self._calls = calls
        # Kinds in the unit are numbered by index; those of inputs have large numbers.
        self._memory = memory
        self.kinds = Kinds()
        for place, row in enumerate(config["objects"]):
            self.kinds.objects[place] = protocol.ObjectKindRow(place, *row)
        for given in call.inputs:
            kind = memory.row(given).kind
            self.kinds.objects[kind] = memory.kinds.objects[kind]
        for inner in _task_kinds(config["kinds"]):
            self.kinds.learn(inner)
        self._place = 0  # of the running or last call, from 1
        self._before: Handover | None = None
        self._made: Handover | None = None
        self._lines: list[str] = []
        self._notes: list[str] = []
        self._failed = False
        self._exception: list[Any] = []  # the last words of the call that has failed

    # The calls.

    def calls(self) -> Iterator[tuple[Context, protocol.Call]]:
        """Yields the calls one after the other, until one has failed."""
        for inner in self._calls:
            self._place += 1
            self._mark.note(self._place)
            inputs = [self._input(place) for place in inner.inputs]
            config = self._configs[inner.config]
            call = protocol.Call(inner.task, inner.kind, config, inputs, inner.outputs)
            yield InnerContext(self._memory, self.kinds, self._stage, call, self._before), call
            if self._failed:
                return

    def _input(self, place: int) -> int | protocol.CallInput:
        if place != BEFORE:
            return self._given[place]
        if self._before is None:
            raise LookupError("the first call reads the output of a previous call")
        return self._before.row

    @property
    def hands_over(self) -> bool:
        """Whether the output of the running call is for another call of this unit."""
        return self._place < len(self._calls)

    def hand_over(
        self, context: Context, result: Any, encode: str | None, kind: protocol.ObjectKindRow
    ) -> None:
        """Passes the result of the running call on to the next call."""
        object_id = self._calls[self._place - 1].outputs[0]
        row = protocol.CallInput(object_id, kind.id, "", "", 0, None)
        if _stays_value(result, encode, kind):
            self._made = Handover(row, value=result, encode=encode)
            taken: frozenset[str] | set[str] = frozenset()
        else:
            outputs = Outputs(context.is_input, self._stage, sys.maxsize)
            told = outputs.output(result, encode, kind)
            taken = outputs.taken
            self._made = self._told(row, told)
        if context.staged is not None:
            throw_away(context.staged, taken)

    def _told(self, row: protocol.CallInput, told: Any) -> Handover:
        """Makes a handover from an output in the form of answers."""
        if isinstance(told, bytes):
            return Handover(row._replace(size=len(told), content=told))
        what, content, content_type, user = told[:4]
        row = row._replace(content_type=content_type, user=user)
        if what == protocol.FILE:
            return Handover(row, staged=content)
        if what == protocol.BYTES:
            return Handover(row._replace(size=len(content), content=content))
        origin = self._row(content)
        row = row._replace(
            content_type=content_type or origin.content_type,
            size=origin.size,
            content=origin.content,
        )
        return Handover(row, origin=self._origin(content))

    def _row(self, object_id: int) -> protocol.CallInput:
        """The row of an input that the running call has passed on."""
        before = self._before
        if before is not None and before.row.id == object_id:
            return before.row
        rows = map(self._memory.row, self._given)
        return next(row for row in rows if row.id == object_id)

    def _origin(self, object_id: int) -> int:
        """The input of the unit that an object is, if it was passed on."""
        before = self._before
        if before is not None and before.row.id == object_id and before.origin is not None:
            return before.origin
        return object_id

    # Answers.

    def called(self, result: Any, words: list[Any] | None) -> None:
        """The running call is done, with its outputs or an error text."""
        self._failed = isinstance(result, str)
        if words:
            self._note(*words[:2])
            self._exception = words[3:]
        if not isinstance(result, str | dict):
            self._name_origins(result)
        made, self._made = self._made, None
        before, self._before = self._before, made
        staged = None if before is None else before.staged
        if staged is not None and (made is None or made.staged != staged):
            _remove(staged, _files(result))

    def _note(self, debug: str, user: str) -> None:
        if debug:
            name = self.kinds.tasks[self._calls[self._place - 1].kind].name
            where = f"{self._place} of {len(self._calls)} ({name})"
            self._lines += [f"{where}: {line}" for line in debug.split("\n")]
        if user:
            self._notes.append(f'"{self._place}": {user}')

    def answer(self, result: Any) -> tuple[Any, list[Any] | None]:
        """The outputs of the last call, or the error text of the one that has failed; the words."""
        notes = "{" + ", ".join(self._notes) + "}" if self._notes else ""
        words: list[Any] = ["\n".join(self._lines), notes]
        if isinstance(result, str):
            inner = self._calls[self._place - 1]
            name = self.kinds.tasks[inner.kind].name
            text = failure_inside(inner.task, name, self._place, len(self._calls), result)
            return text, [*words, "", *self._exception]
        return result, words if self._lines or self._notes else None

    def _name_origins(self, outputs: list[Any]) -> None:
        """Names the unit's input for an output that the previous call has passed on."""
        for told in outputs:
            if not isinstance(told, bytes) and told[0] == protocol.INPUT:
                told[1] = self._origin(told[1])


class Handover:
    """The output of one call for the next one.

    It is a value that was to be pickled, or an output in the form of answers: bytes, a path in the
    stage folder, or an input of the unit that was passed on.
    """

    __slots__ = ("encode", "origin", "row", "staged", "value")

    def __init__(
        self,
        row: protocol.CallInput,
        *,
        value: object = None,
        encode: str | None = None,
        staged: str | None = None,
        origin: int | None = None,
    ) -> None:
        self.row = row
        self.value = value
        self.encode = encode
        self.staged = staged
        self.origin = origin

    def instance(
        self, memory: Memory, kinds: Kinds, label: str, content_type: str | None
    ) -> DataInstance:
        """The data instance for a reader that does not take the value."""
        from rain.executor.specs import input_instance  # noqa: PLC0415 # as in contexts

        row = self.row
        if self.encode is not None:
            data = encode_value(self.value, self.encode)
            row = row._replace(size=len(data), content=data)
        elif self.staged is not None:
            row = row._replace(size=_size(self.staged))
        kind = kinds.objects[row.kind]
        return input_instance(memory, kind, row, label, content_type, self.staged)


class InnerContext(Context):
    """The context of a call of a unit."""

    __slots__ = ("_before",)

    def __init__(
        self,
        memory: Memory,
        kinds: Kinds,
        stage: StagingFolders,
        call: protocol.Call,
        before: Handover | None,
    ) -> None:
        super().__init__(memory, kinds, stage, call)
        self._before = before

    def _instance(self, index: int, label: str, content_type: str | None) -> DataInstance:
        before = self._before
        if before is None or self._call.inputs[index] is not before.row:
            return super()._instance(index, label, content_type)
        return before.instance(self._memory, self._kinds, label, content_type)

    def load_input(self, index: int, label: str, content_type: str | None) -> Any:
        before = self._before
        if (
            before is not None
            and before.encode is not None
            and self._call.inputs[index] is before.row
            and (content_type is None or content_type in _PICKLES)
        ):
            return before.value
        return super().load_input(index, label, content_type)

    def is_input(self, object_id: ID) -> bool:
        """Whether the object is an input of the unit."""
        before = self._before
        if before is not None and before.origin is None and unpack(before.row.id) == object_id:
            return False
        return super().is_input(object_id)


def _stays_value(result: object, encode: str | None, kind: protocol.ObjectKindRow) -> bool:
    """Whether the value itself is passed on, because pickling would only create an equal one."""
    return (
        encode in _PICKLES
        and kind.content_type == encode
        and kind.data_type == "blob"
        and not is_instance(result)
    )


def _files(result: Any) -> set[str]:
    """The files in an answer."""
    if isinstance(result, str | dict):
        return set()
    return {told[1] for told in result if not isinstance(told, bytes) and told[0] == protocol.FILE}


def _size(staged: str) -> int:
    """The size that a governor would report; for a directory, that of its archive."""
    if not os.path.isdir(staged):  # noqa: PTH112 # pathlib starts slowly
        return os.stat(staged).st_size  # noqa: PTH116 # as above
    from pathlib import Path  # noqa: PLC0415 # few calls make directories

    from rain.stream.archive import Archive  # noqa: PLC0415 # as above

    return Archive.of(Path(staged)).length


def _remove(staged: str, files: set[str]) -> None:
    """Removes the file that one call has left for the next, unless it is in the answer."""
    from rain.common.data_instance import DataInstance  # noqa: PLC0415 # already imported

    throw_away([DataInstance(path=staged)], files)


def _task_kinds(rows: list[Any]) -> Iterator[protocol.TaskKindRow]:
    for place, (name, resources, labels, outputs, user) in enumerate(rows):
        yield protocol.TaskKindRow(place, "py/", name, resources, labels, outputs, user, b"")
