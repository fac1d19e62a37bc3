"""A real executor process, and the governor's ends of its channels in the hands of a test."""

import os
import pickle
import select
import signal
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import msgpack

from rain.base import executor_protocol as protocol
from rain.base.ids import pack
from rain.governor.executors.process import Places, start_executor

# Functions of tasks, as lambdas with no types get them: Any, whatever their number of arguments.
Function: TypeAlias = (
    Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
)

cloudpickle: Any = import_module("cloudpickle")  # it is not annotated

SESSION = 5
PLAIN, FOLDER, PICKLED, TEXT = 1, 2, 3, 4  # kinds of objects
PATIENCE = 20.0

FUNCTION_ID = pack(SESSION, 10)


def number(value: int) -> int:
    return pack(SESSION, value)


class Child:
    """Sends frames and tokens, and collects answers."""

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        for name in ("work", "logs", "data"):
            (folder / name).mkdir()
        self.places = Places(folder / "work", folder / "logs", folder / "data", shared=shared)
        started = start_executor(7, self.places)
        self.process = started.process
        self.socket: socket.socket = started.socket
        self.tokens = started.tokens
        self.taken_tokens = started.taken_tokens
        self.stops = started.stops
        self.answers = started.answers
        self.socket.settimeout(PATIENCE)
        self.unpacker: Any = msgpack.Unpacker()
        self.calls = 0
        self.functions = 10
        self.task_kinds = 100

    @property
    def folder(self) -> Path:
        return self.places.folder(7)

    # Frames and tokens.

    def say(self, *frame: Any) -> None:
        packed = msgpack.packb(list(frame))
        self.socket.sendall(len(packed).to_bytes(4, "little") + packed)

    def hear(self) -> Any:
        length = int.from_bytes(self._exactly(4), "little")
        return msgpack.unpackb(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError("the executor has closed its socket\n" + self.log("err"))
            data += piece
        return data

    def post(self, count: int, epoch: int = 1) -> None:
        os.write(self.tokens, epoch.to_bytes(4, "little") * count)

    def take_back(self) -> int:
        try:
            return len(os.read(self.taken_tokens, 1 << 16)) // 4
        except BlockingIOError:
            return 0

    def answer(self) -> list[Any]:
        """The next answer; waits for it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer: list[Any] | None = next(self.unpacker, None)
            if answer is not None:
                task, start, end, *rest = answer
                return [task, end - start, *rest]
            left = deadline - time.monotonic()
            readable = select.select([self.answers], [], [], max(left, 0))[0]
            data = os.read(self.answers, 1 << 20) if readable else b""
            if not data:
                raise EOFError("no answer\n" + self.log("err"))
            self.unpacker.feed(data)

    def interrupt(self, call: int) -> None:
        """Stops a call, counted from 1."""
        os.write(self.stops, call.to_bytes(protocol.STOP, "little"))
        os.kill(self.process.pid, signal.SIGINT)

    def log(self, stream: str) -> str:
        return self.places.log(7, stream).read_text()

    # Calls.

    def tell_kinds(self) -> None:
        objects = [
            [number(PLAIN), "plain", "", "blob", ""],
            [number(FOLDER), "folder", "", "dir", ""],
            [number(PICKLED), "pickled", "pickle", "blob", ""],
            [number(TEXT), "text", "text", "blob", '{"note": 1}'],
        ]
        self.say(protocol.CALLS, 1, [], objects, [], [], None)

    def pickled(self, function: Function) -> bytes:
        pickled: bytes = cloudpickle.dumps(function)
        return pickled

    def remember(self, function: Function) -> int:
        """Sends a function, which the executor keeps."""
        self.functions += 1
        function_id = number(self.functions)
        row = [function_id, number(PLAIN), "", "", 0, self.pickled(function)]
        self.say(protocol.CALLS, 1, [], [], [row], [], None)
        return function_id

    def row(
        self,
        function_id: int,
        *args: Any,
        outputs: tuple[int, ...] = (PICKLED,),
        encode: tuple[str | None, ...] | None = None,
        inputs: tuple[Any, ...] = (),
        labels: tuple[str, ...] = (),
        resources: Any = (("cpus", 2),),
        retry_on: bytes = b"",
        **kwargs: Any,
    ) -> tuple[list[Any], list[Any]]:
        """The kind and the row of a call."""
        self.calls += 1
        self.task_kinds += 1
        how = encode or tuple("pickle" if kind == PICKLED else None for kind in outputs)
        config = {
            "args": [pickle.dumps(arg) for arg in args],
            "kwargs": {name: pickle.dumps(arg) for name, arg in kwargs.items()},
            "encode_outputs": how,
        }
        kind = [
            number(self.task_kinds),
            "py/",
            "name",
            resources,
            list(labels),
            [number(output) for output in outputs],
            "",
            retry_on,
        ]
        made = [number(1000 * self.calls + i) for i in range(len(outputs))]
        packed = msgpack.packb(config)
        return kind, [number(100_000 + self.calls), kind[0], packed, [function_id, *inputs], made]

    def call(self, function: Function | int, *args: Any, **how: Any) -> list[Any]:
        """Runs a function, and gives its answer."""
        function_id = function if isinstance(function, int) else self.remember(function)
        kind, row = self.row(function_id, *args, **how)
        self.post(1)
        self.say(protocol.CALLS, 1, [kind], [], [], [row], None)
        answer = self.answer()
        assert answer[0] == row[0]
        return answer

    def value(self, function: Function | int, *args: Any, **how: Any) -> Any:
        """Runs a function with one pickled output, and gives its value."""
        result = self.call(function, *args, **how)[2]
        assert not isinstance(result, str), result
        return pickle.loads(result[0])

    def failure(self, function: Function | int, *args: Any, **how: Any) -> str:
        """Runs a function that fails, and gives the text."""
        text = self.call(function, *args, **how)[2]
        assert isinstance(text, str), text
        return text

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.socket.close()
        for descriptor in (self.tokens, self.taken_tokens, self.stops, self.answers):
            os.close(descriptor)


@contextmanager
def child(folder: Path, shared: Path | None = None) -> Generator[Child]:
    """An executor that has registered and knows the kinds of objects."""
    running = Child(folder, shared)
    try:
        assert running.hear() == [protocol.REGISTER, protocol.PROTOCOL, 7]
        running.tell_kinds()
        yield running
    finally:
        running.close()
