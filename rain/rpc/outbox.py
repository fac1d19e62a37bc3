"""Messages that leave in their order, a few under way at a time, without holding up who sends.

A slow peer makes its outbox longer, never a turn: `push` encodes and sends when fewer than
`IN_FLIGHT` messages are unanswered, and otherwise keeps the value until an answer comes.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeAlias, TypeVar

import capnp

from rain.rpc.connection import Connection, reason_of

V = TypeVar("V")
Promise: TypeAlias = Any  # of a call that was sent

IN_FLIGHT = 4

_running: set[asyncio.Task[None]] = set()


def start(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Runs a coroutine of the host on its own; what it raises is ours."""
    task = asyncio.create_task(coroutine)
    _running.add(task)  # the loop alone would not keep it alive
    task.add_done_callback(_finished)
    return task


def _finished(task: asyncio.Task[None]) -> None:
    _running.discard(task)
    if not task.cancelled():
        # An error is raised here again, in a callback, which makes it the program's end.
        task.result()


class Outbox(Generic[V]):
    """The way out of one connection for one kind of message."""

    def __init__(self, connection: Connection, send: Callable[[V], Promise]) -> None:
        self._connection = connection
        self._send = send
        self._waiting: deque[V] = deque()
        self._in_flight = 0
        self._emptied: list[asyncio.Future[None]] = []
        connection.tell_end(self._stop)

    @property
    def length(self) -> int:
        """How many messages are not answered yet."""
        return len(self._waiting) + self._in_flight

    def push(self, value: V) -> None:
        """Sends a value after all that were pushed before; a closed connection takes nothing."""
        if self._connection.is_open:
            self._waiting.append(value)
            self._pump()

    async def emptied(self) -> None:
        """Returns when all is answered, or the connection has ended."""
        if self.length and self._connection.is_open:
            emptied = asyncio.get_running_loop().create_future()
            self._emptied.append(emptied)
            await emptied

    def _pump(self) -> None:
        while self._waiting and self._in_flight < IN_FLIGHT:
            self._in_flight += 1
            start(self._land(self._send(self._waiting.popleft())))

    async def _land(self, promise: Promise) -> None:
        try:
            await promise
        except capnp.KjException as error:
            self._connection.end(reason_of(error))
        finally:
            self._in_flight -= 1
        if self._connection.is_open:
            self._pump()
            if not self.length:
                self._tell()

    def _stop(self, cause: str) -> None:  # the same for every cause
        self._waiting.clear()
        self._tell()

    def _tell(self) -> None:
        waiting, self._emptied = self._emptied, []
        for emptied in waiting:
            if not emptied.done():
                emptied.set_result(None)
