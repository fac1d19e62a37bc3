"""Runs submissions in this process, with the executor's own code: no daemon, socket or process."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rain.base import executor_protocol as protocol
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.submission import Submission
from rain.common import imports, script_main
from rain.common.content_type import decode_value
from rain.executor.desk import Desk
from rain.executor.executor import Executor
from rain.executor.interrupts import Interrupts
from rain.executor.memory import Memory
from rain.governor.core.effects import CallExecutor
from rain.governor.executors.messages import calls_frame


class NoDesk(Desk):
    """Nobody sits behind it."""

    def __init__(self) -> None:
        pass


class Evaluator:
    """An executor that is given what a submission names."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory(str(folder / "data"), str(folder / "uploads"))
        self._executor = Executor(1, NoDesk(), Interrupts(-1), self.memory, str(folder))
        self._executor.task_folder.enter()
        self._rows: dict[int, protocol.CallInput] = {}
        self._task_kinds: dict[int, TaskKind] = {}
        self._object_kinds: dict[int, ObjectKind] = {}
        self._numbers = count()
        self._folder = folder
        self.calls = 0
        self.failures: list[str] = []

    def run(self, submission: Submission) -> None:
        """Runs all tasks; the outputs are in `value` and `failure` from then on."""
        import msgpack  # noqa: PLC0415 # only to read what governors would say

        self._task_kinds.update((kind.id, kind) for kind in submission.task_kinds)
        self._object_kinds.update((kind.id, kind) for kind in submission.object_kinds)
        effect = CallExecutor(1, submission.task_kinds, submission.object_kinds, [], [], None, [])
        self.memory.hear(msgpack.unpackb(calls_frame(effect, 1)))
        constants = submission.constants
        for object_id, of_kind, data in zip(
            constants.ids, constants.kinds, constants.data, strict=True
        ):
            self._rows[object_id] = protocol.CallInput(object_id, of_kind, "", "", len(data), data)
        columns = submission.tasks
        inputs, outputs = iter(columns.inputs), iter(columns.outputs)
        for place, task in enumerate(columns.ids):
            kind = self._task_kinds[columns.kinds[place]]
            read = [next(inputs) for _ in range(columns.input_counts[place])]
            made = [next(outputs) for _ in kind.outputs]
            if all(one in self._rows for one in read):
                given: list[Any] = [list(self._rows[one]) for one in read]
                call = protocol.Call(task, kind.id, columns.configs[place], given, list(made))
                self._call(call, kind)

    def _call(self, call: protocol.Call, kind: TaskKind) -> None:
        self.calls += 1
        result, _ = self._executor.work(call)
        if isinstance(result, str):
            self.failures.append(result)
            return
        for output, output_kind, told in zip(call.outputs, kind.outputs, result, strict=True):
            self._rows[output] = self._row(output, output_kind, told)

    def _row(self, output: int, kind: int, told: Any) -> protocol.CallInput:
        if isinstance(told, bytes):
            return protocol.CallInput(output, kind, "", "", len(told), told)
        what, content, content_type, user = told
        if what == protocol.INPUT:
            origin = self._rows[content]
            found = content_type or origin.content_type
            return origin._replace(id=output, kind=kind, content_type=found, user=user)
        if what == protocol.FILE:
            number = next(self._numbers)
            Path(content).rename(self._folder / "data" / str(number))
            content = number
        return protocol.CallInput(output, kind, content_type, user, 0, content)

    @property
    def made(self) -> set[int]:
        """All objects that are there."""
        return set(self._rows)

    def value(self, object_id: int) -> Any:
        """The value of an output."""
        row = self._rows[object_id]
        declared = self.memory.kinds.objects[row.kind].content_type
        return decode_value(bytes(self.memory.bytes_of(row)), row.content_type or declared)


@contextmanager
def evaluator(folder: Path) -> Generator[Evaluator]:
    """One whose tasks have folders of their own below this one.

    Afterwards this process is no executor any more, but the program that it was.
    """
    before = Path.cwd()
    (folder / "data").mkdir()
    main = sys.modules["__main__"]
    try:
        with (
            patch.object(script_main, "_current", None),
            patch.object(imports, "_running", None),
            patch.object(sys, "path", sys.path[:]),
            patch.object(sys, "argv", sys.argv[:]),
        ):
            yield Evaluator(folder)
    finally:
        sys.modules["__main__"] = main
        os.chdir(before)
