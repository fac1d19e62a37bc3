"""Delays signals while a turn runs: their handlers are called when the turn is over.

A handler of the program may raise, as for Ctrl-C, or submit and wait. Neither may happen in the
middle of a turn.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Any

# That of `signal` makes enumerations of what it finds, which takes longer than all of this.
_handler: Callable[[int], Any] = import_module("_signal").getsignal

_SIGNALS = tuple(
    map(
        int,
        (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGALRM,
            signal.SIGVTALRM,
            signal.SIGPROF,
            signal.SIGUSR1,
            signal.SIGUSR2,
            signal.SIGCHLD,
        ),
    )
)
"""Those for which programs have handlers."""

Handler = Callable[[int, FrameType | None], object]


class Shield:
    """May be entered again inside of itself; only the main thread needs it."""

    def __init__(self) -> None:
        self._depth = 0
        self._came: deque[Callable[[], object]] = deque()
        self._end = ExitStack()

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if self._depth:
            self._depth += 1
            return
        # A handler that is not put off yet may still raise here; so may one at the end.
        with ExitStack() as end:
            end.callback(self._call_handlers)
            for number in _SIGNALS:
                handler = _handler(number)
                if callable(handler):
                    end.callback(signal.signal, number, handler)
                    signal.signal(number, partial(self._put_off, handler))
            self._end = end.pop_all()
            self._depth = 1

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if not self._depth:
            self._end.close()

    def _put_off(self, handler: Handler, number: int, frame: FrameType | None) -> None:
        self._came.append(partial(handler, number, frame))

    def _call_handlers(self) -> None:
        with ExitStack() as each:  # calls all, also when one of them raises
            while self._came:
                each.callback(self._came.pop())
