"""Ends calls that run for longer than their `timeout=`.

The clock of a local cluster stands still while a call runs. So these seconds are measured with the
real clock, by a thread that exists only while such a call runs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

_DEBUGGERS = frozenset({"bdb", "debugpy", "pydevd", "_pydevd_bundle"})


@contextmanager
def limited(seconds: float, end: Callable[[Callable[[], bool]], object]) -> Generator[None]:
    """A call runs in this thread; `end` is called in another one if it takes longer than this.

    `end` is given a function that says whether the call still runs. Time at the prompt of a
    debugger does not count. 0 seconds are no limit.
    """
    if not seconds:
        yield
        return
    ended, runner = threading.Event(), threading.get_ident()

    def watch() -> None:
        while not ended.wait(seconds):
            if not _is_debugged(runner):
                end(lambda: not ended.is_set())
                return

    threading.Thread(target=watch, name="rain-local-limit", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _is_debugged(thread: int) -> bool:
    """Whether a debugger holds a thread."""
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage] # as traceback dumps do
    while frame is not None:
        name: str = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
