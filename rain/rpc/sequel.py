"""What follows from what was heard, done in the same iteration of the loop where that is possible.

A daemon hears something from a socket, takes a turn, and says what comes of it to other sockets.
With a `call_soon` for each step this takes three iterations of asyncio's loop, and each looks at
the system's events before it does anything: for a single task that costs as much as the turn. So
the steps are queued here instead. When one look at the events has found only one socket that can be
read, nobody else has anything to add, and all that follows is done as soon as that socket was read.
Otherwise it is done in the next iteration, when all who had something to say were heard.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVarTuple

from rain.base.errors import InvariantError

Ts = TypeVarTuple("Ts")

STEPS = 2
"""A turn, and what it says. What follows from these waits for a look at the events."""


class _Looking(selectors.DefaultSelector):
    """Remembers how many had something to say."""

    found = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(timeout)
        self.found = len(events)
        return events


class SequelLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with a queue of what follows from what was heard."""

    def __init__(self) -> None:
        self._looking = _Looking()
        self._sequel: deque[Callable[[], object]] = deque()
        self._attended = False  # whoever runs now looks at the queue before the iteration ends
        self._later: asyncio.Handle | None = None
        super().__init__(self._looking)

    def follow(self, function: Callable[[], object]) -> None:
        """Calls a function when all that was found with the last look at the events is heard."""
        self._sequel.append(function)
        if not self._attended:
            self._put_off()

    def add_reader(self, fd: Any, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        super().add_reader(fd, self._hear, callback, *args)

    def _hear(self, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        self._attended = True
        try:
            callback(*args)
            if self._looking.found == 1:
                self._go_on()
        finally:
            self._put_off()

    def _put_off(self) -> None:
        """What is in the queue is done in the next iteration."""
        self._attended = False
        if self._sequel and self._later is None:
            self._later = self.call_soon(self._go_on_later)

    def _go_on_later(self) -> None:
        self._later = None
        self._attended = True
        try:
            self._go_on()
        finally:
            self._put_off()

    def _go_on(self) -> None:
        for _ in range(STEPS):
            for _ in range(len(self._sequel)):
                self._sequel.popleft()()


def running_loop() -> SequelLoop:
    """The loop of this thread, which must be one of ours."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SequelLoop):
        raise InvariantError("this needs one of the loops that rain.rpc runs")
    return loop
