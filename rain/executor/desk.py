"""The executor's desk: receives calls and sends answers (see rain/base/executor_protocol.py).

A call is claimed with its token. The answer is written before the next call is
claimed, so the governor always knows which calls were started and which were answered, even after
the death of this process.
"""

import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgpack

from rain.base import executor_protocol as protocol

_CALLS = protocol.CALLS
_HEADER = protocol.HEADER
_LOOK: bytes = msgpack.packb([protocol.LOOK])
_LOOK_FRAME = len(_LOOK).to_bytes(_HEADER, "little") + _LOOK

_call_of_row: Callable[[list[Any]], protocol.Call] = partial(tuple[Any, ...].__new__, protocol.Call)
_unpack: Callable[[bytes], list[Any]] = msgpack.unpackb


class Desk:
    """The three channels to the governor."""

    def __init__(
        self,
        connected: socket.socket,
        tokens: int,
        answers: int,
        on_frame: Callable[[list[Any]], object],
    ) -> None:
        self._socket = connected
        # Not connected.makefile: each read from it calls several Python functions.
        self._frames = open(connected.fileno(), "rb", 256 * 1024, closefd=False)  # noqa: SIM115 # as long as the process
        self._tokens = tokens
        self._answers = answers
        self._on_frame = on_frame
        self._queue: deque[tuple[bytes, list[Any]]] = deque()  # calls, each with its token
        self._pack = msgpack.Packer(autoreset=True).pack
        self._looked = 0.0  # time of the last LOOK
        self._unseen = False  # no LOOK since the last answer
        os.set_blocking(tokens, False)
        os.set_blocking(answers, False)

    def register(self, number: int) -> None:
        """Sends the registration, the first message."""
        self._say([protocol.REGISTER, protocol.PROTOCOL, number])

    def _say(self, message: list[Any]) -> None:
        packed = self._pack(message)
        self._socket.sendall(len(packed).to_bytes(_HEADER, "little") + packed)

    def next_call(self) -> protocol.Call | None:
        """Returns the next call to run; None if the governor has ended."""
        queue = self._queue
        while True:
            if not queue:
                if self._unseen:
                    self._ask_to_look()
                if not self._receive():
                    return None
                continue
            try:
                token = os.read(self._tokens, protocol.TOKEN)
            except BlockingIOError:
                # All calls in the queue were taken back.
                queue.clear()
                continue
            its_token, call = queue.popleft()
            if token == its_token:
                return _call_of_row(call)
            return self._call_of(token) if token else None

    def _call_of(self, token: bytes) -> protocol.Call | None:
        """Returns the call of a token; earlier calls of other epochs were taken back."""
        queue = self._queue
        while True:
            while queue:
                its_token, call = queue.popleft()
                if its_token == token:
                    return _call_of_row(call)
            if not self._receive():
                return None

    def answer(self, row: list[Any], now: float) -> None:
        """Answers the last claimed call; `now` is the time (perf_counter)."""
        packed = self._pack(row)
        try:
            written = os.write(self._answers, packed)
        except BlockingIOError:
            written = 0
        if written < len(packed):
            self._answer_slowly(memoryview(packed)[written:])
        if not self._queue or now - self._looked > protocol.LOOK_EVERY:
            self._ask_to_look()
        else:
            self._unseen = True

    def blocked(self) -> None:
        """The running call waits for other tasks."""
        if self._unseen:
            self._ask_to_look()
        self._say([protocol.BLOCKED])

    def resumed(self) -> None:
        """It goes on."""
        self._say([protocol.RESUMED])

    def _answer_slowly(self, rest: memoryview) -> None:
        """Writes an answer to a full pipe: asks the governor to read meanwhile."""
        poll = select.poll()
        poll.register(self._answers, select.POLLOUT)
        while rest:
            self._ask_to_look()
            poll.poll()
            try:
                rest = rest[os.write(self._answers, rest) :]
            except BlockingIOError:
                continue

    def _ask_to_look(self) -> None:
        self._socket.sendall(_LOOK_FRAME)
        self._looked = time.perf_counter()
        self._unseen = False

    def _receive(self) -> bool:
        """Reads and applies one frame; False if the governor has ended."""
        frames = self._frames
        try:
            header = frames.read(_HEADER)
            length = int.from_bytes(header, "little")
            body = frames.read(length)
        except ConnectionResetError:
            return False
        if len(header) < _HEADER or len(body) < length:
            return False
        frame = _unpack(body)
        self._on_frame(frame)
        if frame[0] == _CALLS:
            token = frame[1].to_bytes(protocol.TOKEN, "little")
            self._queue.extend([(token, call) for call in frame[5]])
        return True
