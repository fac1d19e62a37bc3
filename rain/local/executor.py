"""An executor of a local cluster: runs its calls in the thread that waits for them.

Frames and rows are those of real executors, so arguments and results are pickled in the same way. A
call sees what it would see in a process of its own: its own folder as the working directory, its
own client, and room on the stack.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.ids import TaskId
from rain.base.shortage import ShortageError
from rain.client import nested
from rain.client.nested import TaskClient
from rain.common import pieces, running
from rain.common.number_settings import apply, number_settings
from rain.common.printed import Streams, logs_of
from rain.executor.executor import Work
from rain.executor.memory import Memory
from rain.executor.printed import with_printed
from rain.governor.core.effects import CallExecutor, DropCached
from rain.governor.core.events import CallsDone, CallWaits, Tell
from rain.governor.executors.messages import AnswerReader, adopt_all, calls_frame, drop_frame
from rain.governor.storage.store import Store
from rain.local.clock import DURATION, Steps
from rain.local.errors import keeping_frames
from rain.local.interrupts import Interrupts
from rain.local.modules import OwnModules
from rain.local.pieces import Find, LocalPieces
from rain.local.printed import Written, keeping_printed
from rain.stream.removing import remove

STACK = 700
"""How many more frames a call may have than the one that waits for it."""


class Executor(Work):
    """The calls of one executor that are not done; one of them may run."""

    def __init__(
        self,
        number: int,
        folder: Path,
        store: Store,
        tell: Tell,
        new_client: Callable[[], TaskClient],
        clock: Steps,
        find: Find,
    ) -> None:
        folder.mkdir()
        self.number = number
        self.interrupts = Interrupts()
        self.is_running = False
        self.is_doomed = False  # it ends with the call that it runs
        self._folder = folder
        memory = Memory(str(store.folder), f"{folder.parent}/uploads")
        memory.spaces = OwnModules(f"{folder.parent}/uploads")
        super().__init__(self.interrupts, memory, str(folder))
        self._store = store
        self._tell = tell
        self._reader = AnswerReader(number, [folder / "stage"], store)
        self._waiting = _Waiting(self)
        self._printed = Written(), Written()
        self._outside = -1  # the folder of the program, while a call runs
        self._frames: deque[list[Any]] = deque()  # not read
        self._queue: deque[protocol.Call] = deque()
        self._call: protocol.Call  # the one that runs
        self._new_client = new_client
        self._clock = clock
        self._pieces = LocalPieces(find)
        self._client: TaskClient | None = None

    # From the governor.

    def take(self, effect: CallExecutor) -> None:
        """Calls, and what is needed to read them."""
        self._frames.append(msgpack.unpackb(calls_frame(effect, 1)))

    def drop(self, effect: DropCached) -> None:
        """What may be forgotten, when all earlier calls have begun."""
        self._frames.append(msgpack.unpackb(drop_frame(effect)))

    def take_back(self) -> int:
        """Gives up all calls that have not begun; how many these are."""
        count = len(self._queue)
        self._queue.clear()
        for frame in self._frames:
            if frame[0] == protocol.CALLS:
                count += len(frame[5])
                frame[5] = []  # what else it says is needed by later ones
        return count

    def end(self) -> None:
        """It is not needed any more, and runs nothing."""
        if self._client is not None:
            self._client.housekeeper.stop_soon()
        self.task_folder.close()
        if self._mark is not None:
            self._mark.close()
        remove(self._folder)

    # Calls.

    def can_run(self) -> bool:
        """Whether it has a call that can begin now."""
        if self.is_running:
            return False
        while not self._queue and self._frames:
            frame = self._frames.popleft()
            self.memory.hear(frame)
            if frame[0] == protocol.CALLS:
                self._queue.extend(map(protocol.Call._make, frame[5]))
        return bool(self._queue)

    def begin(self) -> None:
        """Its next call is to run now, in this thread; until `ended`, which is told the answer."""
        self._call = self._queue.popleft()
        self.is_running = True
        self.interrupts.begin()

    def run(self) -> CallsDone:
        """Runs it, and gives the answer."""
        memory, call = self.memory, self._call
        if len(call.inputs) > 1 and not memory.made.complete(call.inputs):
            return self._answered([call.task, 0.0, 0.0, None])
        memory.made.forget(call.outputs)
        with keeping_printed() as self._printed, self._surroundings(call.task):
            try:
                result, words = self.work(call)
            except KeyboardInterrupt:
                if not self.interrupts.is_stopped:
                    raise
                # The function had just raised something else. Nobody reads this answer.
                result, words = "the call was interrupted", None
            except ShortageError as error:
                result, words = str(error), None
        said = self._said()
        if said[0][1] or said[1][1]:
            result, words = with_printed(result, words, said)
        if not isinstance(result, str | dict):
            memory.made.keep(call.outputs, result)
        self.task_folder.clean()
        return self._answered([call.task, *self._times(), result, *(words or ())])

    def given_up(self) -> CallsDone:
        """The answer of a call that was ended by the user, with all that waits for it."""
        self.task_folder.clean()
        return self._answered([self._call.task, *self._times(), "the call was interrupted"])

    def ended(self) -> None:
        """The call has ended, and the governor has its answer."""
        self.is_running = False
        self.interrupts.end()

    def enter_working_folder(self) -> bool:
        """The folder where the program itself is."""
        os.fchdir(self._outside)
        return True

    def passes(self, error: BaseException) -> bool:
        """Ctrl-C, or the command of a debugger to quit, ends the program and not just the call."""
        if isinstance(error, KeyboardInterrupt):
            return not self.interrupts.is_stopped
        debugger = sys.modules.get("bdb")
        return debugger is not None and isinstance(error, debugger.BdbQuit)

    def pickled(self, error: BaseException) -> tuple[bytes, str]:
        """With its frames."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals.get("__name__") in _OURS:
            trace = trace.tb_next
        data, why_text_only = super().pickled(error)
        return keeping_frames(data, trace), why_text_only

    def printed_by(self, task: TaskId) -> str:
        """What a task has printed so far; "" if it does not run here."""
        if not self.is_running or self._waiting.task != task:
            return ""
        return logs_of(self._said())

    def _said(self) -> Streams:
        out, err = self._printed
        return out.kept, err.kept

    def tell_waits(self, *, waits: bool) -> None:
        """The running call waits for other calls, or goes on."""
        self._tell(CallWaits(self.number, waits=waits))

    def client(self) -> TaskClient:
        """The client of the calls of this executor."""
        if self._client is None:
            self._client = self._new_client()
        return self._client

    def _times(self) -> tuple[float, float]:
        """When a call that ends now has begun, and when it ends."""
        return self._clock.now - DURATION, self._clock.now

    def _answered(self, row: list[Any]) -> CallsDone:
        done = self._reader.feed(msgpack.packb(row))
        assert done is not None  # it has one row
        return adopt_all(done, self._reader.take_staged(), self._store)

    @contextmanager
    def _surroundings(self, task: int) -> Generator[None]:
        """What is this process's otherwise is the call's inside of this."""
        self._waiting.task = task
        folder = self._outside = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        path, limit, numbers = sys.path[:], sys.getrecursionlimit(), number_settings()
        sys.path[:] = [entry or _current_folder() for entry in path]
        changed = sys.path[:]
        client, here = nested.install(self.client), running.install(self._waiting)
        reader = pieces.install(self._pieces)
        sys.setrecursionlimit(limit + STACK)
        self.task_folder.enter()
        try:
            yield
        finally:
            apply(numbers)
            sys.setrecursionlimit(limit)
            pieces.install(reader)
            running.install(here)
            nested.install(client)
            if sys.path == changed:
                sys.path[:] = path
            os.fchdir(folder)
            os.close(folder)


_OURS = frozenset({"rain.executor.executor", __name__})


class _Waiting:
    """The running call, as code that waits sees it (`rain.common.running.Running`)."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.task = 0

    @property
    def call(self) -> tuple[int, int] | None:
        """The running task, and the number of its call."""
        interrupts = self._executor.interrupts
        is_at_work = self._executor.is_running and not interrupts.is_stopped
        return (self.task, interrupts.call) if is_at_work else None

    def begin_wait(self) -> bool:
        """The governor hears of the outermost wait."""
        interrupts = self._executor.interrupts
        if get_ident() != interrupts.thread or not interrupts.open:
            return False
        interrupts.waits += 1
        if interrupts.waits == 1:
            self._executor.tell_waits(waits=True)
        return True

    def end_wait(self) -> None:
        """The call goes on."""
        interrupts = self._executor.interrupts
        interrupts.waits -= 1
        if not interrupts.waits:
            self._executor.tell_waits(waits=False)
            interrupts.check()


def _current_folder() -> str:
    """The folder that "" means in `sys.path`; "" if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 # asked for each call
    except FileNotFoundError:
        return ""
