"""The class `Context`, the first argument of a Python task."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rain.base import executor_protocol as protocol
from rain.base.ids import ID, unpack
from rain.common.content_type import decode_value
from rain.executor.values import blob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rain.common.attributes import TaskInfo, TaskSpec
    from rain.common.data_instance import DataInstance
    from rain.executor.memory import Kinds, Memory
    from rain.executor.staging import StagingFolders


class Context:
    """The running task, and what it can do besides returning values.

    `function` is the function itself, the same object in all calls of an executor while it is
    cached. Everything else is created on demand.
    """

    __slots__ = (
        "_call",
        "_debug",
        "_info",
        "_kinds",
        "_memory",
        "_spec",
        "_stage_place",
        "function",
        "spoke",
        "staged",
    )

    def __init__(
        self, memory: Memory, kinds: Kinds, stage: StagingFolders, call: protocol.Call
    ) -> None:
        self._memory = memory
        self._kinds = kinds
        self._stage_place = stage
        self._call = call
        self._spec: TaskSpec | None = None
        self._info: TaskInfo | None = None
        self._debug: list[str] | None = None
        self.function: Any = None
        self.staged: list[DataInstance] | None = None  # instances in the stage folder for this task
        self.spoke = False  # whether there may be debug lines or notes

    # The task.

    @property
    def spec(self) -> TaskSpec:
        """The spec of the task: id, inputs, outputs, resources, name and the user's notes."""
        if self._spec is None:
            from rain.executor.specs import task_spec  # noqa: PLC0415 # few tasks read it

            self._spec = task_spec(self._memory, self._kinds, self._call)
        return self._spec

    @property
    def info(self) -> TaskInfo:
        """The info of the task; `info.user` may be changed."""
        if self._info is None:
            from rain.common.attributes import TaskInfo  # noqa: PLC0415 # as above

            self._info = TaskInfo()
            self.spoke = True
        return self._info

    @property
    def gpus(self) -> tuple[str, ...]:
        """The gpus that the task has while it runs, as named by CUDA."""
        return self._memory.gpus or ()

    # Data.

    def blob(
        self, value: Any, content_type: str | None = None, encode: str | None = None
    ) -> DataInstance:
        """Makes data in memory: from bytes, from text as UTF-8, or from any value with `encode`."""
        instance = blob(value, content_type, encode, self._stage_place)
        if instance.path is not None:
            _show(instance.path)
            self._note_staged(instance)
        return instance

    def pickled(self, value: Any, content_type: str = "pickle") -> DataInstance:
        """Makes data in memory from a pickled value."""
        return self.blob(value, encode=content_type)

    def stage_file(self, path: str, content_type: str | None = None) -> DataInstance:
        """Moves a file out of the task's folder, to return it as an output."""
        return self._stage(path, content_type, is_folder=False)

    def stage_directory(self, path: str) -> DataInstance:
        """Moves a directory out of the task's folder, to return it as an output."""
        return self._stage(path, None, is_folder=True)

    def _stage(self, path: str, content_type: str | None, *, is_folder: bool) -> DataInstance:
        from rain.executor.staging import stage  # noqa: PLC0415 # as above

        instance = stage(self._stage_place, path, content_type, is_folder)
        self._note_staged(instance)
        return instance

    def _note_staged(self, instance: DataInstance) -> None:
        """Notes an instance, which is removed after the task if it is not returned."""
        if self.staged is None:
            self.staged = []
        self.staged.append(instance)

    # Other tasks.

    def then(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Passes the result of the task on to another task: `return ctx.then(fn, ...)`; see
        `rain.client.then`.
        """
        # A client is above executors, and only what submits tasks needs one.
        return import_module("rain.client").then(fn, *args, **kwargs)

    # Debug lines and notes.

    def debug(self, message: str, *args: object, **kwargs: object) -> None:
        """Adds a debug line (`message.format(...)`), which is sent at the end of the task."""
        if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
            raise TypeError(f"debug: the message is a format string, not {type(message)!r}")
        if self._debug is None:
            self._debug = []
            self.spoke = True
        self._debug.append(message.format(*args, **kwargs))

    def words(self) -> list[str]:
        """Debug lines and the user's notes for the answer; empty if there are none."""
        user = None if self._info is None else self._info.user
        if user:
            from rain.common.notes import encode_notes  # noqa: PLC0415 # as above

            return [self.debug_lines, encode_notes(user)]
        return [] if self._debug is None else [self.debug_lines, ""]

    @property
    def debug_lines(self) -> str:
        """All lines of `debug`."""
        return "\n".join(self._debug or ())

    # For nested data objects, and for the results.

    def input(self, index: int, label: str, content_type: str | None) -> DataInstance:
        """One of the inputs (number 0 is the function), read as the content type if given."""
        instance = self._instance(index, label, content_type)
        if instance.path is not None:
            _show(instance.path)
        return instance

    def _instance(self, index: int, label: str, content_type: str | None) -> DataInstance:
        from rain.executor.specs import input_instance  # noqa: PLC0415 # as above

        row = self._memory.row(self._call.inputs[index])
        return input_instance(self._memory, self._kinds.objects[row.kind], row, label, content_type)

    def load_input(self, index: int, label: str, content_type: str | None) -> Any:
        """The value of one of the inputs; small ones without a content type need no instance."""
        row = self._memory.row(self._call.inputs[index])
        content = row.content
        if content_type is None and type(content) is bytes:
            kind = self._kinds.objects[row.kind]
            if kind.data_type == "blob":
                return decode_value(content, row.content_type or kind.content_type or None)
        return self._instance(index, label, content_type).load()

    def is_input(self, object_id: ID) -> bool:
        """Whether the object is an input of this task."""
        return any(unpack(self._memory.row(given).id) == object_id for given in self._call.inputs)


def _show(path: Path) -> None:
    """A task may do with this path what it likes, so nothing is ever written over the file."""
    from rain.stream.spare_files import mark_shown  # noqa: PLC0415 # few tasks have paths

    mark_shown(path)
