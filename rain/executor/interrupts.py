"""Interrupts a cancelled call in an executor (see rain/governor/core/cancelling.py).

The governor writes the number of the call into a pipe and sends SIGINT. The function gets a
`KeyboardInterrupt`, at most one for each call. Its result or exception is thrown away, and the
process goes on to its next call. Therefore only the function itself is ever interrupted: not its
import, which could leave half a module behind, and no code of Rain.

Threads cannot be killed. So if a stopped call has left any, the process ends without an answer, and
the governor starts another one.
"""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType

from rain.base.executor_protocol import STOP, read_stop

# That of `signal` takes 2.4 us, with an exception inside, and is asked after each call.
_handler: Callable[[int], object] = import_module("_signal").getsignal

_READ = 512 * STOP
_SIGINT = int(signal.SIGINT)


class Interrupts:
    """The running call, and the call that shall be interrupted."""

    def __init__(self, stops: int) -> None:
        self._stops = stops
        self._process = os.getpid()
        self._handler = self._signalled
        self._stopped = -1  # the newest call that is to be interrupted
        self.on_refusal: Callable[[int], object] = _nothing  # called when the call may not wait
        self.call = 0  # the one that was started last, counted from 1
        self.open = False  # its function runs, and may be interrupted

    @property
    def is_stopped(self) -> bool:
        """Whether the last call was to be interrupted."""
        return self._stopped == self.call

    def listen(self) -> None:
        """Begins to receive stops."""
        os.set_blocking(self._stops, False)
        self.restore()

    def enter(self) -> None:
        """The function of the call begins; interrupts it at once if it was stopped before.

        The code that catches what comes out of the function sets `open` to False first.
        """
        self.open = True
        if self._stopped == self.call:
            self._interrupt()

    def _interrupt(self) -> None:
        self.open = False
        raise KeyboardInterrupt

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # a fork of a task: Ctrl-C means there what it always does
            signal.default_int_handler(number, frame)
        try:
            stops = os.read(self._stops, _READ)
        except BlockingIOError:
            return  # not from the governor, or told with the signal before
        refused = -1
        for start in range(0, len(stops), STOP):
            call, most = read_stop(stops[start : start + STOP])
            if most < 0:
                self._stopped = call
            elif call == self.call:
                refused = most
        if self.open and self._stopped == self.call:
            self._interrupt()
        if self.open and refused >= 0:
            self.on_refusal(refused)

    def settle(self) -> None:
        """The call is over: ends the process if a stopped call has left threads."""
        if self._stopped == self.call and _has_threads():
            os._exit(0)

    def restore(self) -> None:
        """The call may have put a handler of its own in the place of this one."""
        if _handler(_SIGINT) is not self._handler:
            signal.signal(signal.SIGINT, self._handler)


def _nothing(_: int) -> None:
    """Nobody waits for anything."""


def _has_threads() -> bool:
    """Whether Python code runs in any other thread of this process."""
    threading = sys.modules.get("threading")
    return threading is not None and threading.active_count() > 1
