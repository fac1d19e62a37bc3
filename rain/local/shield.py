"""Keeps Ctrl-C away while a turn runs: it is raised when the turn is over."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Shield:
    """May be entered again inside of itself; only the main thread needs it."""

    def __init__(self) -> None:
        self._depth = 0
        self._before: object = None
        self._came: FrameType | None = None
        self._has_come = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._before = signal.getsignal(signal.SIGINT)
        if callable(self._before):
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth:
            return
        handler, self._before = self._before, None
        if not callable(handler):
            return
        signal.signal(signal.SIGINT, handler)
        if self._has_come:
            self._has_come, frame, self._came = False, self._came, None
            handler(signal.SIGINT, frame)

    def _note(self, _: int, frame: FrameType | None) -> None:
        self._has_come, self._came = True, frame
