"""Shows in this program what tasks print on the cluster, while they run.

A thread asks the server for lines, writes them, and asks again. So a slow terminal delays nothing
else: the server leaves out lines that are not fetched in time, and one line says how many.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from math import inf
from typing import IO, Any

from rain.base.errors import RainError
from rain.base.ids import SessionId, spell
from rain.base.printed_lines import NO_TASK
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import TakePrinted, WatchPrinted
from rain.client.connection import Connection
from rain.common.errors import RainException

PAUSE = 0.1
"""Seconds between two requests: what is printed in the meantime comes in one answer."""

DRAINING = 5.0
"""Seconds for which the end of a client waits for a terminal that does not read."""

LINES_PER_SECOND = 200.0
SECONDS_SAVED = 5.0
"""How many seconds' worth of lines may be written at once after a pause."""


class Allowance:
    """Limits how many lines are written: a number per second, and more at once after a pause."""

    def __init__(self, per_second: float = LINES_PER_SECOND) -> None:
        self.per_second = per_second
        self._saved = inf  # at the start, as after a long pause
        self._looked = 0.0

    def take(self, wanted: int, now: float) -> int:
        """As many of these lines as may be written now."""
        since, self._looked = now - self._looked, now
        most = max(self.per_second * SECONDS_SAVED, 1.0)
        self._saved = min(self._saved + since * self.per_second, most)
        taken = min(wanted, int(self._saved))
        self._saved -= taken
        return taken


def prefix_of(lines: PrintedLines) -> str:
    """The prefix that says which task has printed a line: "[train 3/12 node7:7001]"."""
    named = f"{lines.name} " if lines.name else ""
    return f"[{named}{spell(lines.task)} {lines.governor}]"


class Shaping:
    """Turns the received output into whole lines, each with the task that printed it."""

    def __init__(self) -> None:
        self.allowance = Allowance()
        self._left_out = 0  # lines that were not allowed, since some were

    def shape(self, told: Iterable[PrintedLines], now: float) -> list[tuple[bool, str]]:
        """Lines, each with whether it is of stderr."""
        shaped: list[tuple[bool, str]] = []
        for lines in told:
            if lines.task == NO_TASK:
                line = f"[{lines.left_out:,} bytes that tasks have printed are not shown here]"
                shaped.append((True, line))
                continue
            prefix, texts = prefix_of(lines), lines.text.removesuffix("\n").split("\n")
            if lines.left_out:
                texts.insert(0, f"[... {lines.left_out:,} bytes are left out here ...]")
            shaped += [(lines.errors, f"{prefix} {text}") for text in texts]
        allowed = self.allowance.take(len(shaped), now)
        if self._left_out and allowed:
            shaped.insert(0, _not_shown(self._left_out))
            allowed += 1
            self._left_out = 0
        self._left_out += len(shaped) - allowed
        return shaped[:allowed]

    def take_last(self) -> list[tuple[bool, str]]:
        """The line to print at the end."""
        left_out, self._left_out = self._left_out, 0
        return [_not_shown(left_out)] if left_out else []


def _not_shown(count: int) -> tuple[bool, str]:
    return True, f"[{count:,} lines were not shown: there were too many]"


class Showing:
    """The output of sessions of one client. It does not hold the client itself."""

    def __init__(self, connection: Connection, open_sessions: Iterable[int]) -> None:
        self._connection = connection
        self._open = open_sessions  # all that the client has, now and later
        self._all = False
        self._chosen: set[int] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._shaping = Shaping()

    def show_all(self, on: bool, per_second: float) -> None:
        """Starts or ends showing the output of all sessions."""
        _check(per_second)
        with self._lock:
            self._all = on
            if not on:
                self._chosen.clear()
            self._changed(per_second)

    def show_one(self, session: int, on: bool, per_second: float) -> None:
        """Starts or ends showing the output of one session."""
        _check(per_second)
        with self._lock:
            if on:
                self._chosen.add(session)
            else:
                self._chosen.discard(session)
            self._changed(per_second)

    def opened(self) -> None:
        """The client has one more session."""
        with self._lock:
            if self._all:
                self._watch()

    def stop(self) -> None:
        """Shows what has come, and nothing more."""
        with self._lock:
            self._all = False
            self._chosen.clear()
            self._end()

    def _changed(self, per_second: float) -> None:
        if self._connection.here is not None:
            return  # the output of calls in this process appears without help
        if not (self._all or self._chosen):
            self._end()
            return
        self._shaping.allowance.per_second = per_second
        self._watch()
        if self._thread is None:
            self._ending = threading.Event()
            self._thread = threading.Thread(
                target=_show,
                args=(self._connection, self._shaping, self._ending),
                name="rain-client-output",
                daemon=True,
            )
            self._thread.start()

    def _watch(self) -> None:
        sessions = {*self._open} if self._all else self._chosen
        self._connection.say(WatchPrinted(Watch(frozenset(map(SessionId, sessions)))))

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._ending.set()
        with suppress(RainError):  # the server has gone
            self._connection.say(WatchPrinted(None))
        if thread is not threading.current_thread():
            thread.join(DRAINING)


def _check(per_second: object) -> None:
    if not isinstance(per_second, int | float) or not per_second > 0:
        raise RainException(f"lines_per_second is {per_second!r}: it must be above 0")


def _show(connection: Connection, shaping: Shaping, ending: threading.Event) -> None:
    """The thread: until it is told to end and has shown all that has come."""
    with suppress(RainError, OSError, ValueError):  # the server has gone, or the terminal
        while (told := connection.ask(TakePrinted(wait=True))) or not ending.is_set():
            write(shaping.shape(told, time.monotonic()))
            ending.wait(PAUSE)
        write(shaping.take_last())


def write(lines: Sequence[tuple[bool, str]]) -> None:
    """Writes lines where the program writes now, in as few pieces as their order allows."""
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or lines[end][0] != lines[start][0]:
            stream = sys.stderr if lines[start][0] else sys.stdout
            _write(stream, "".join([f"{line}\n" for _, line in lines[start:end]]))
            start = end


def _write(stream: IO[str] | None, text: str) -> None:
    if stream is None:  # as in a program without a terminal
        return
    _in_the_cell_that_runs(stream)
    with _bars_aside(stream):
        stream.write(text)
        stream.flush()


def _bars_aside(stream: IO[str]) -> AbstractContextManager[Any]:
    """Around a write: bars of tqdm are taken away and drawn again below it."""
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    return nullcontext() if tqdm is None else tqdm.external_write_mode(file=stream)


def _in_the_cell_that_runs(stream: IO[str]) -> None:
    """In a notebook: what a thread writes belongs to the cell that runs, or ran last.

    Newer kernels would show it below the cell that has started the thread.
    """
    set_parent: Callable[[Any], object] | None = getattr(stream, "set_parent", None)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if set_parent is not None and kernel is not None:
        set_parent(kernel.get_parent())
