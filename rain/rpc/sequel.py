"""What sockets bring is heard at once, and what follows from it is done at once.

A daemon hears something from a socket, takes a turn, and says what comes of it to other sockets.
In asyncio each of these steps is a handle that is made, queued and run in an iteration of its own,
and each iteration looks at the system's events before it does anything: for a single task that
costs as much as the turn. So an iteration that has only sockets to hear calls their readers as it
finds them, and behind these, when all who had something to say were heard, what they have queued
here. Every other iteration is asyncio's own: when something was called soon or later or by another
thread, when a socket can be written to or was hung up, and in debug mode.
"""

import asyncio
import os
import select
import selectors
import sys
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from time import monotonic
from typing import Any, TypeVarTuple

from rain.base.errors import InvariantError
from rain.rpc.vigil import Found, Vigil

Ts = TypeVarTuple("Ts")

STEPS = 2
"""A turn, and what it says. What follows from these waits for a look at the events."""

MANY = 256
"""So many events are taken with one look; the next one finds the others."""

LONGEST = 3600.0
"""Seconds of one look; the system would not wait for months."""

# The types of asyncio do not speak of what runs inside of `run_forever`.
ordinary_iteration: Callable[[asyncio.BaseEventLoop], None] = vars(asyncio.BaseEventLoop)[
    "_run_once"
]


class SequelLoop(asyncio.SelectorEventLoop):
    """asyncio's loop with a queue of what follows from what was heard."""

    # asyncio's, which this reads: why an iteration is not only for sockets.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _stopping: bool
    _debug: bool

    def __init__(self) -> None:
        self._ears: dict[int, Callable[[], object]] = {}  # the readers by their descriptors
        self._sequel: deque[Callable[[], object]] = deque()
        self._attended = False  # whoever runs now looks at the queue before the iteration ends
        self._later: asyncio.Handle | None = None
        self._vigil = Vigil()
        self._events: select.epoll | None = None
        selector = selectors.DefaultSelector()
        super().__init__(selector)
        if sys.platform == "linux":
            # What asyncio waits for, too, without an object for each event.
            self._events = select.epoll.fromfd(os.dup(selector.fileno()))

    def close(self) -> None:
        super().close()
        if self._events is not None:
            self._events.close()

    def follow(self, function: Callable[[], object]) -> None:
        """Calls a function when all that was found with the last look at the events is heard."""
        self._sequel.append(function)
        if not self._attended:
            self._put_off()

    def stay_awake(self, seconds: float) -> None:
        """Does not sleep for so long, until something is heard: it is expected at once."""
        self._vigil.begin(seconds)

    def add_reader(self, fd: Any, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        ear = partial(copy_context().run, callback, *args)
        super().add_reader(fd, self._hear, ear)
        self._ears[_number(fd)] = ear

    def remove_reader(self, fd: Any) -> bool:
        self._ears.pop(_number(fd), None)
        return super().remove_reader(fd)

    def _run_once(self) -> None:
        """One iteration; what runs the loop calls this."""
        wait = 0.0 if self._ready or self._stopping or self._debug else LONGEST
        if wait and self._scheduled:
            wait = min(wait, self._scheduled[0].when() - monotonic())
        if wait <= 0.0 or self._events is None or not self._listen(self._look(self._events, wait)):
            ordinary_iteration(self)

    def _look(self, events: select.epoll, wait: float) -> Found:
        """What was found, after so many seconds at the latest."""
        if self._vigil and (found := self._vigil.keep(partial(events.poll, 0.0, MANY), wait)):
            return found
        return events.poll(wait, MANY)

    def _listen(self, found: Found) -> bool:
        """Hears those who have said something; whether that was all there is to do.

        What is left, asyncio will find again.
        """
        enough = bool(found)
        self._attended = True
        try:
            for fd, event in found:
                ear = self._ears.get(fd)
                if ear is None or event != select.EPOLLIN:
                    enough = False
                else:
                    ear()
            self._go_on()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001  # as asyncio judges it
            self.call_exception_handler({"message": "a reader failed", "exception": error})
        finally:
            self._attended = False
            if self._sequel:
                self._put_off()
        return enough

    def _hear(self, ear: Callable[[], object]) -> None:
        """In an iteration of asyncio's, which has more to call."""
        self._attended = True
        try:
            ear()
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
        sequel = self._sequel
        for _ in range(STEPS):
            for _ in range(len(sequel)):
                sequel.popleft()()


def _number(fd: Any) -> int:
    number: int = fd if isinstance(fd, int) else fd.fileno()
    if number < 0:  # its number may be somebody else's by now, who would be heard as this one
        raise InvariantError(f"{fd!r} was closed before its reader was removed")
    return number


def running_loop() -> SequelLoop:
    """The loop of this thread, which must be one of ours."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SequelLoop):
        raise InvariantError("this needs one of the loops that rain.rpc runs")
    return loop
