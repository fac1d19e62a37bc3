"""Runs the calls of one executor process, one after the other.

The pickles of clients refer to `unpickle_input_object`, so the name of this module is part of the
interface.
"""

import errno
import os
import pickle
import socket
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.ids import NUMBER_BITS
from rain.base.shortage import NoRoomError, ShortageError, lacks_thread_of_ours
from rain.common import running
from rain.common.errors import PiecesLostError
from rain.common.script_main import tidy
from rain.common.then import Then
from rain.executor.blocking import Blocking
from rain.executor.context import Context
from rain.executor.cpus_and_gpus import Threads, visible_gpus
from rain.executor.desk import Desk
from rain.executor.errors import (
    close_what_it_held,
    pickled_error,
    tell_of_files,
    text_of,
    why_final,
    with_hint,
)
from rain.executor.forks import end_fork
from rain.executor.interrupts import Interrupts
from rain.executor.memory import Kinds, Memory
from rain.executor.modules import explained
from rain.executor.parent import die_with_parent
from rain.executor.printed import take_printed, with_printed
from rain.executor.staging import StagingFolders, throw_away
from rain.executor.task_folder import TaskFolder
from rain.executor.values import Outputs, handed_on, small_pickle, split

if TYPE_CHECKING:
    from rain.common.data_instance import DataInstance
    from rain.executor.unit import RunningMark, Unit

_current: Context | None = None
_unpack: Callable[[bytes], Any] = msgpack.unpackb
_loads = pickle.loads

Answer: TypeAlias = tuple[Any, list[Any] | None]
"""Outputs or error text of a call, and its words."""


def unpickle_input_object(
    label: str, input_index: int, load: bool, content_type: str | None
) -> "DataInstance | Any":
    """Called by the pickle of an argument in place of the client's data object."""
    if _current is None:
        raise RuntimeError("data objects can only be unpickled inside a running task")
    if load:
        return _current.load_input(input_index, label, content_type)
    return _current.input(input_index, label, content_type)


class Interruptible(Protocol):
    """How a call is interrupted; see `rain.executor.interrupts`."""

    @property
    def open(self) -> bool:
        """Whether its function runs, and may be interrupted."""
        ...

    @open.setter  # noqa: A003 # as in those
    def open(self, value: bool) -> None: ...

    def enter(self) -> None:
        """The function of the call begins."""
        ...


class Work:
    """Runs single calls: with what is remembered between them, and its folders."""

    def __init__(
        self, interrupts: Interruptible, memory: Memory, folder: str, number: int = 0
    ) -> None:
        self.memory = memory
        self.stage = StagingFolders(
            f"{folder}/stage", memory.data_folder, memory.shared_folder, number
        )
        self.task_folder = TaskFolder(f"{folder}/task")
        self._interruptible = interrupts
        self._place_file = f"{folder}/{protocol.PLACE_FILE}"
        self._mark: RunningMark | None = None  # created for the first unit
        self._unit: Unit | None = None  # the running unit

    def work(self, call: protocol.Call) -> Answer:
        """Runs one call; returns its outputs or error text, and its debug lines and notes."""
        memory = self.memory
        kinds = memory.kinds
        if memory.gpus is None and call.kind not in kinds.units:
            return self._work(kinds, Context(memory, kinds, self.stage, call), call)
        return self._work_apart(call)

    def enter_working_folder(self) -> bool:
        """Goes to the folder where the program works, if this machine has it.

        Plain functions write files there with relative paths, as they do without a cluster.
        """
        try:
            os.chdir(self.memory.spaces.current.folder)
        except OSError:  # there is no such folder here, or it belongs to somebody else
            return False
        return True

    def came_out(self, error: BaseException | None) -> None:
        """Called when the function has ended, also in a process that it has forked."""

    def passes(self, error: BaseException) -> bool:
        """Whether an error is not the function's own, but ends the thread that called this."""
        del error
        return False

    def pickled(self, error: BaseException) -> tuple[bytes, str]:
        """The pickle of an error for the client; if there is none, also why."""
        return pickled_error(error)

    def _work_apart(self, call: protocol.Call) -> Answer:
        """Runs an unusual call: one with gpus, or a unit."""
        memory = self.memory
        kinds = memory.kinds
        with nullcontext() if memory.gpus is None else visible_gpus(memory.gpus):
            if call.kind in kinds.units:
                return self._work_unit(call)
            return self._work(kinds, Context(memory, kinds, self.stage, call), call)

    def _work_unit(self, call: protocol.Call) -> Answer:
        """Runs the calls of a unit, each like a single call, up to the first failure."""
        from rain.executor.unit import RunningMark, Unit  # noqa: PLC0415 # most executors never see one

        mark = self._mark = self._mark or RunningMark(self._place_file)
        result: Any = None
        try:
            unit = self._unit = Unit(self.memory, self.stage, call, mark)
            for context, inner in unit.calls():
                result, words = self._work(unit.kinds, context, inner)
                unit.called(result, words)
                self.task_folder.clean()
                self.task_folder.enter()
        except (LookupError, TypeError, ValueError, msgpack.UnpackException) as error:
            # Errors of the functions are results; this is a config that our clients never send.
            return f"this is not a unit: {type(error).__name__}: {error}", None
        finally:
            self._unit = None
            mark.note(0)
        return unit.answer(result)

    def _work(self, kinds: Kinds, context: Context, call: protocol.Call) -> Answer:
        """Runs one call; returns its outputs or error text, and its debug lines and notes."""
        global _current  # noqa: PLW0603 # unpickling cannot find its task otherwise
        around, _current = _current, context
        words: list[Any]
        try:
            told = self._call_function(kinds, context, call)
            return told, context.words() if context.spoke else None
        except NoRoomError as error:
            throw_away(context.staged or (), frozenset())
            words = [context.debug_lines, "", "", b"", False, False, error.size]
            return f"{error.strerror}", words
        except ShortageError:
            raise  # this process has to end: not the task lacks something, but our part of it
        # Anything that user code raises, including sys.exit, affects only its own task.
        except BaseException as error:
            self._interruptible.open = False
            self.came_out(error)
            if lacks_thread_of_ours(error):
                raise ShortageError(errno.EAGAIN, str(error)) from error
            throw_away(context.staged or (), frozenset())
            if self.passes(error):
                raise
            if isinstance(error, PiecesLostError):
                return str(error), [context.debug_lines, "", "", b"", False, True]
            with_hint(error)
            close_what_it_held(error)
            data, why_text_only = self.pickled(error)
            text = text_of(error) + why_text_only + explained(error, self.memory.spaces.current)
            words = [context.debug_lines, "", "", data]
            retry_on = self._retry_on(call)
            if retry_on and (why := why_final(error, retry_on)):
                text = f"{text.rstrip()}\n{why}\n"
                words.append(True)
            return text, words
        finally:
            _current = around
            tidy()

    def _retry_on(self, call: protocol.Call) -> bytes:
        """The errors that are worth another try, by the kind of the call or of its unit."""
        kind = call.kind if self._unit is None else self._unit.kind
        return self.memory.kinds.tasks[kind].retry_on

    def _call_function(
        self, kinds: Kinds, context: Context, call: protocol.Call
    ) -> list[Any] | dict[str, list[int]]:
        config: dict[str, Any] = _unpack(call.config)
        function = context.function = self.memory.function(call.inputs[0])
        args = [*map(_loads, config["args"])]
        named: dict[str, bytes] = config["kwargs"]
        keywords = {key: _loads(arg) for key, arg in named.items()} if named else named
        is_plain = protocol.PLAIN in config
        is_away = is_plain and self.enter_working_folder()
        interrupts = self._interruptible
        interrupts.enter()
        if is_plain:
            result = function(*args, **keywords)
            self.came_out(None)
            if not is_away and (left := self.task_folder.left()):
                tell_of_files(left)
        else:
            result = function(context, *args, **keywords)
            self.came_out(None)
        unit = self._unit
        if unit is not None and unit.hands_over and type(result) is Then:
            result = result.future.result()  # the next call of the unit is in this process
        interrupts.open = False
        made, one_pickle = kinds.outputs[call.kind]
        encodings = config["encode_outputs"]
        if type(result) is Then:
            return handed_on(result, len(made))
        if unit is not None and unit.hands_over:
            unit.hand_over(context, result, encodings[0], made[0])
            return []
        small = small_pickle(result, encodings[0]) if one_pickle else None
        if small is not None:
            taken: AbstractSet[str] = frozenset()
            told = [small]
        else:
            outputs = Outputs(context.is_input, self.stage)
            taken = outputs.taken
            told = [
                outputs.output(value, encode, kind)
                for value, encode, kind in zip(split(result, made), encodings, made, strict=True)
            ]
        if context.staged is not None:
            throw_away(context.staged, taken)
        return told


class Executor(Work):
    """One executor process, with its desk."""

    def __init__(
        self, number: int, desk: Desk, interrupts: Interrupts, memory: Memory, folder: str
    ) -> None:
        super().__init__(interrupts, memory, folder, number)
        self.number = number
        self.desk = desk
        self.interrupts = interrupts
        self.threads = Threads()
        self._origin = os.environ.get(protocol.ORIGIN, "")
        self._process = os.getpid()

    def came_out(self, error: BaseException | None) -> None:
        """Ends a forked process: otherwise two processes would answer the call."""
        if os.getpid() != self._process:
            end_fork(error)

    @staticmethod
    def from_environment() -> "Executor":
        """Creates the executor from its environment variables; its folder is the cwd."""
        take = os.environ.pop
        die_with_parent(int(take(protocol.GOVERNOR_PID)))
        connected = socket.socket(fileno=int(take(protocol.SOCKET_FD)))
        tokens, answers = int(take(protocol.TOKENS_FD)), int(take(protocol.ANSWERS_FD))
        stops = int(take(protocol.STOPS_FD))
        for descriptor in (connected.fileno(), tokens, stops, answers):
            os.set_inheritable(descriptor, False)
        folder = os.getcwd()  # noqa: PTH109 # pathlib starts slowly
        shared = take(protocol.SHARED_FOLDER, "")
        memory = Memory(take(protocol.DATA_FOLDER), f"{folder}/uploads", shared)
        number = int(os.environ[protocol.EXECUTOR_ID])
        desk = Desk(connected, tokens, answers, memory.hear)
        return Executor(number, desk, Interrupts(stops), memory, folder)

    def run(self) -> None:
        """Runs and answers calls until the governor has ended."""
        desk, memory, folder, threads = self.desk, self.memory, self.task_folder, self.threads
        self.interrupts.listen()
        desk.register(self.number)
        folder.enter()
        now = time.perf_counter
        made = memory.made
        interrupts, blocking = self.interrupts, Blocking(desk, self.interrupts)
        running.install(blocking)
        session = 0
        while (call := desk.next_call()) is not None:
            started = now()
            interrupts.call += 1
            blocking.task = call.task
            # The first input is the function, which always comes whole.
            if len(call.inputs) > 1 and not made.complete(call.inputs):
                desk.answer([call.task, 0.0, 0.0, None], started)
                continue
            made.forget(call.outputs)
            if call.task >> NUMBER_BITS != session:
                session = call.task >> NUMBER_BITS
                self._mark_session(session)
            if memory.cpus != threads.cpus:
                threads.limit(memory.cpus)
            blocking.at_work = True
            try:
                result, words = self.work(call)
            except KeyboardInterrupt:
                # The function had just raised something else. Nobody reads this answer.
                result, words = "the call was interrupted", None
            blocking.at_work = False
            interrupts.settle()
            ended = now()
            said = take_printed()
            if said is not None:
                result, words = with_printed(result, words, said)
            row = [call.task, started, ended, result]
            desk.answer(row + words if words else row, ended)
            # The rest runs after the answer was sent.
            if not isinstance(result, str | dict):
                made.keep(call.outputs, result)
            folder.clean()
            folder.enter()
            interrupts.restore()

    def _mark_session(self, session: int) -> None:
        """Marks child processes with the session, so that the governor finds them after its end."""
        token = self._origin.rpartition(" ")[2].partition("/")[0]
        os.environ[protocol.ORIGIN] = f"{self._origin} {token}/s{session}"
