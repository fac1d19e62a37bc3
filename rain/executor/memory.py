"""Caches what an executor needs between calls: kinds, functions, and its latest outputs."""

import mmap
import os
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple, TypeVar

from rain.base import executor_protocol as protocol
from rain.base.ids import NUMBER_BITS
from rain.base.shortage import OwnFiles
from rain.base.units import UNIT
from rain.common.number_settings import NumberSettings
from rain.common.pickles import load
from rain.common.script_main import Main, current_main, enter, reading
from rain.executor.modules import Space, Spaces
from rain.executor.values import is_one_pickle

OUTPUTS_AT_MOST = 1024
BYTES_AT_MOST = 16 * 1024 * 1024

_CONTENT = protocol.CallInput._fields.index("content")


class RecentOutputs:
    """The latest outputs that were answered inline; the oldest are dropped first.

    They are inputs of calls that are queued behind the calls that make them.
    """

    def __init__(self) -> None:
        # Content type, user's notes, bytes. A plain dict would search for its first entry among
        # all slots of deleted entries.
        self._rows: OrderedDict[int, tuple[str, str, bytes]] = OrderedDict()
        self._bytes = 0

    def complete(self, inputs: list[int | protocol.CallInput]) -> bool:
        """Adds the content to inputs that came without; False if one is not cached any more."""
        for index, given in enumerate(inputs):
            if isinstance(given, int) or given[_CONTENT] is not None:
                continue
            object_id, kind = given[0], given[1]
            made = self._rows.get(object_id)
            if made is None:
                return False
            content_type, user, data = made
            inputs[index] = protocol.CallInput(object_id, kind, content_type, user, len(data), data)
        return True

    def keep(self, outputs: Sequence[int], told: Sequence[Any]) -> None:
        """Caches the inline outputs of an answer."""
        rows = self._rows
        for output, content in zip(outputs, told, strict=True):
            if type(content) is bytes:
                rows[output] = ("", "", content)
                self._bytes += len(content)
            elif content[0] == protocol.BYTES:
                _, data, content_type, user = content[:4]
                rows[output] = (content_type, user, data)
                self._bytes += len(data)
        while len(rows) > OUTPUTS_AT_MOST or self._bytes > BYTES_AT_MOST:
            _, (_, _, data) = rows.popitem(last=False)
            self._bytes -= len(data)

    def forget(self, outputs: Sequence[int]) -> None:
        """Drops outputs that will be made again, so that no call reads the old ones."""
        for output in outputs:
            if output in self._rows:
                self._drop(output)

    def forget_session(self, session: int) -> None:
        """Drops the outputs of a session."""
        for output in [output for output in self._rows if output >> NUMBER_BITS == session]:
            self._drop(output)

    def _drop(self, output: int) -> None:
        _, _, data = self._rows.pop(output)
        self._bytes -= len(data)


Row = TypeVar("Row")


class Kinds:
    """The kinds of tasks and objects, by id: those of an executor, or those inside of a unit."""

    def __init__(self) -> None:
        self.tasks: dict[int, protocol.TaskKindRow] = {}
        self.objects: dict[int, protocol.ObjectKindRow] = {}
        # By task kind: its outputs, and whether these are a single pickle.
        self.outputs: dict[int, tuple[list[protocol.ObjectKindRow], bool]] = {}
        self.cpus: dict[int, int] = {}  # by task kind
        self.units: set[int] = set()  # the task kinds that are units

    def learn(self, kind: protocol.TaskKindRow) -> None:
        """Adds a kind of tasks; those of its outputs are known."""
        outputs = [self.objects[output] for output in kind.outputs]
        self.tasks[kind.id] = kind
        self.outputs[kind.id] = outputs, is_one_pickle(outputs)
        self.cpus[kind.id] = dict(kind.resources).get(protocol.CPUS, 0)
        if kind.task_type == UNIT:
            self.units.add(kind.id)

    def forget_session(self, session: int) -> None:
        """Drops the kinds of a session."""
        self.tasks = _without(self.tasks, session)
        self.objects = _without(self.objects, session)
        self.outputs = _without(self.outputs, session)
        self.cpus = _without(self.cpus, session)
        self.units = {kind for kind in self.units if kind >> NUMBER_BITS != session}


class Loaded(NamedTuple):
    """A function, and what must be current while it runs."""

    function: Any
    space: Space  # of its modules
    main: Main | None  # what it sees as `__main__`; None if the process has its own
    numbers: NumberSettings | None


class Remembered:
    """A cached function, which is unpickled for its first call."""

    def __init__(self, row: protocol.CallInput) -> None:
        self.row = row
        self.loaded: Loaded | None = None


class Memory:
    """Kinds, cached objects and the latest outputs."""

    def __init__(self, data_folder: str, uploads_folder: str, shared_folder: str = "") -> None:
        self.data_folder = data_folder
        self.shared_folder = shared_folder  # of the governor, in shared memory; "" for none
        self.kinds = Kinds()
        self.objects: dict[int, Remembered] = {}
        self.made = RecentOutputs()
        self.spaces = Spaces(uploads_folder)
        # The gpus for the calls of the last frame. No frame is read before all calls of the
        # previous one were started or taken back.
        self.gpus: tuple[str, ...] | None = None
        self.cpus = 1

    def hear(self, frame: list[Any]) -> None:
        """Applies everything in a frame but its calls."""
        kinds = self.kinds
        if frame[0] == protocol.CALLS:
            for row in frame[3]:
                kinds.objects[row[0]] = protocol.ObjectKindRow._make(row)
            for row in frame[2]:
                kinds.learn(protocol.TaskKindRow._make(row))
            for row in frame[4]:
                self.objects[row[0]] = Remembered(protocol.CallInput._make(row))
            self.gpus = None if frame[6] is None else tuple(frame[6])
            if frame[5]:  # all its calls have the same needs
                self.cpus = kinds.cpus[frame[5][0][1]]
        else:
            for object_id in frame[1]:
                del self.objects[object_id]
            for session in frame[2]:
                kinds.forget_session(session)
                self.made.forget_session(session)

    def function(self, given: int | protocol.CallInput) -> Any:
        """Returns the function of input 0; the same object while it is cached."""
        if not isinstance(given, int):
            return self._load(protocol.CallInput._make(given)).function
        remembered = self.objects[given]
        loaded = remembered.loaded
        if loaded is None:
            loaded = remembered.loaded = self._load(remembered.row)
        else:
            self._enter(loaded)
        return loaded.function

    def _enter(self, loaded: Loaded) -> None:
        """Makes current what a function needs."""
        if loaded.space is not self.spaces.current:
            self.spaces.enter(loaded.space)
        self.spaces.calculate_as(loaded.numbers)
        if loaded.main is not current_main() and loaded.main is not None:
            enter(loaded.main)

    def _load(self, row: protocol.CallInput) -> Loaded:
        """Unpickles a function, with what it needs current.

        Large arrays that it has captured stay in the stored file, and are copied on write.
        """
        from rain.common.imports import other_python, pickle_in  # noqa: PLC0415 # executors start often

        data = self.bytes_of(row, mmap.ACCESS_COPY)
        space, numbers = self.spaces.space_of(data)
        self.spaces.enter(space)
        self.spaces.calculate_as(numbers)
        main = self.spaces.new_main(space)
        try:
            with nullcontext() if main is None else reading(main):
                return Loaded(load(pickle_in(data)), space, main, numbers)
        except Exception as error:  # whatever the user's classes raise; it goes on
            if advice := other_python(data):
                error.add_note(advice)
            raise

    def row(self, given: int | protocol.CallInput) -> protocol.CallInput:
        """Returns the full row of an input, which has come as a list."""
        if isinstance(given, int):
            return self.objects[given].row
        return protocol.CallInput._make(given)

    def path(self, file: int) -> str:
        """The path of a file or folder in the governor's store, for as long as the call runs.

        A file that was made in shared memory may have been moved to the disk.
        """
        if file & protocol.SHARED:
            shared = f"{self.shared_folder}/{file}"
            if os.path.exists(shared):  # noqa: PTH110 # pathlib starts slowly
                return shared
        return f"{self.data_folder}/{file}"

    def bytes_of(
        self, row: protocol.CallInput, access: int = mmap.ACCESS_READ
    ) -> bytes | mmap.mmap:
        """The bytes of a blob; a stored blob is mapped, not copied."""
        if isinstance(row.content, bytes):
            return row.content
        assert row.content is not None  # outputs of earlier calls were filled in before
        path = self.path(row.content)
        with OwnFiles("cannot open an input"), open(path, "rb") as file:  # noqa: PTH123 # pathlib starts slowly
            return mmap.mmap(file.fileno(), 0, access=access)


def _without(rows: dict[int, Row], session: int) -> dict[int, Row]:
    return {key: row for key, row in rows.items() if key >> NUMBER_BITS != session}
