"""Interrupts cancelled calls in local mode.

The function gets a `KeyboardInterrupt`, at most one: in its wait for other calls if it waits, else
at its next line of Python. In the main thread it comes by a signal, which also ends a sleep. A
signal just before a sleep does not end the sleep, so it is sent again until it has an effect. Only
the function itself is interrupted (see `rain.executor.interrupts`, which does the same in
processes).
"""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

from rain.common.errors import RainException

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = [ctypes.c_ulong, ctypes.py_object]

_SIGNAL = signal.SIGURG
"""Hardly any program uses it, and it does nothing where no handler is."""

_AGAIN = 0.05
"""Seconds after which a signal that was not heard is sent again."""


class Interrupts:
    """The running call of one executor, and whether it shall end."""

    def __init__(self) -> None:
        self.call = 0  # the one that was started last, counted from 1
        self.thread = 0  # in which it runs
        self.waits = 0  # for other calls; one wait may be inside of the other
        self._lock = threading.Lock()
        self._open = False
        self._stopped = -1  # the newest call that is to be interrupted
        self._refused = ""  # why it may not wait
        self._is_sent = False  # an exception is on its way to the thread
        self._in_main = False  # it runs in the main thread
        self._before: Any = None  # the handler of the signal

    def begin(self) -> None:
        """Notes that the next call begins in this thread."""
        self._in_main = threading.current_thread() is threading.main_thread()
        if self._in_main:
            self._before = signal.signal(_SIGNAL, self._signalled)
        self.call += 1
        self.thread = threading.get_ident()
        self.waits = 0
        self._refused = ""

    def end(self) -> None:
        """Notes the end of the call. Its own thread calls this."""
        if self._in_main:
            signal.signal(_SIGNAL, self._before)

    @property
    def is_stopped(self) -> bool:
        """Whether the running call was cancelled."""
        return self._stopped == self.call

    @property
    def open(self) -> bool:
        """Whether its function runs, and may be interrupted."""
        return self._open

    @open.setter  # noqa: A003 # the name is that of `rain.executor.interrupts`
    def open(self, value: bool) -> None:
        with self._lock:
            self._open = value
            if self._is_sent and not value:
                self._is_sent = False
                with suppress(KeyboardInterrupt):
                    _let_it_arrive()

    def enter(self) -> None:
        """The function begins; interrupts it at once if it was stopped before."""
        self.open = True
        self.check()

    def check(self) -> None:
        """Raises in a cancelled call, in its thread, before its function goes on or waits."""
        if self._open and self.is_stopped:
            self.open = False
            raise KeyboardInterrupt
        if self._open and self._refused:
            told, self._refused = self._refused, ""
            raise RainException(told)

    def stop(self, call: int) -> None:
        """Interrupts this call. Any thread may call it."""
        with self._lock:
            self._stopped = call
            elsewhere = self.thread != threading.get_ident()
            if call == self.call and self._open and not self.waits and elsewhere:
                if self._in_main:
                    signal.pthread_kill(self.thread, _SIGNAL)
                    insists = threading.Thread(target=self._insist, args=(call,), daemon=True)
                    insists.start()
                    return
                self._is_sent = True
                _raise_in(self.thread, ctypes.py_object(KeyboardInterrupt))

    def _insist(self, call: int) -> None:
        """Sends the signal again until the call has heard it, or has ended."""
        while True:
            time.sleep(_AGAIN)
            with self._lock:
                if call != self.call or not self._open:
                    return
                if not self.waits:
                    signal.pthread_kill(self.thread, _SIGNAL)

    def _signalled(self, _: int, frame: FrameType | None) -> None:
        del frame
        if self._open and self.is_stopped and not self.waits:
            self._open = False  # without the lock, which this thread may have
            raise KeyboardInterrupt

    def refuse(self, call: int, why: str) -> None:
        """Refuses that this call waits for others; it raises in the call."""
        if call == self.call and self.waits:
            self._refused = why


def _let_it_arrive() -> None:
    """Gives an exception that is on its way to this thread, and too late, a place to be raised.

    To withdraw it instead makes CPython 3.11 hang where a debugger or a coverage tool traces: the
    interpreter goes on to look for it at the first line of the next function, for ever.
    """
    for _ in range(2):  # it is looked for when a loop begins again
        pass
