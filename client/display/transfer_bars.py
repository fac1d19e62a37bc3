"""Progress bars for large transfers that last longer than a moment.

All transfers that run at the same time in one direction share a bar. The threads that move the
bytes draw it, so there is no extra thread. The drawing library is loaded when the first bar
appears.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from math import inf
from typing import TYPE_CHECKING

from rain.common.running import in_a_task

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from rain.stream.sockets import Note
    from rain.stream.watching import Direction

APPEARS_AFTER = 1.0
"""Seconds for which bytes have moved when a bar appears."""

DRAWN_EVERY = 0.1


class _Flow:
    """The transfers in one direction, from the first one until none is left."""

    def __init__(self, direction: Direction, now: float) -> None:
        self.direction = direction
        self.running = 0
        self.total = 0
        self.moved = 0
        self.drawn_next = now + APPEARS_AFTER
        self.bar: TaskID | None = None


class TransferBars:
    """The bars of one client, on stderr, for its threads."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, console: Console | None = None
    ) -> None:
        self._clock = clock
        self._console = console
        # A signal handler that fetches may come while its own thread is in here.
        self._lock = threading.RLock()
        self._flows: dict[Direction, _Flow] = {}
        self._bars: Progress | None = None
        self._is_over = False  # the terminal has gone

    @contextmanager
    def watching(self, direction: Direction, length: int) -> Generator[Note | None]:
        """Around a transfer; None where nobody could see a bar."""
        if self._console is None and not _may_be_seen():
            yield None
            return
        flow = self._begin(direction, length)
        before = 0

        def note(moved: int) -> None:
            nonlocal before
            self._move(flow, moved - before)
            before = moved

        try:
            yield note
        finally:
            self._end(flow, length - before)  # what is mapped or linked does not move

    def _begin(self, direction: Direction, length: int) -> _Flow:
        with self._lock:
            flow = self._flows.get(direction)
            if flow is None:
                flow = self._flows[direction] = _Flow(direction, self._clock())
            flow.running += 1
            flow.total += length
            return flow

    def _move(self, flow: _Flow, count: int) -> None:
        with self._lock:
            flow.moved += count
            now = self._clock()
            if now >= flow.drawn_next and not self._is_over:
                flow.drawn_next = now + DRAWN_EVERY
                self._draw(flow)

    def _end(self, flow: _Flow, rest: int) -> None:
        with self._lock:
            flow.moved += rest
            flow.running -= 1
            if flow.running:
                return
            del self._flows[flow.direction]
            if self._bars is None:
                return
            if not self._flows:
                self._stop()
            elif flow.bar is not None:
                self._bars.remove_task(flow.bar)

    def _draw(self, flow: _Flow) -> None:
        try:
            if self._bars is None:
                self._bars = self._new_bars()
            if self._bars is None:
                flow.drawn_next = inf
                return
            total = max(flow.total, flow.moved)  # archives of folders are larger than their files
            if flow.bar is None:
                flow.bar = self._bars.add_task(
                    flow.direction.value, total=total, completed=flow.moved
                )
            self._bars.update(flow.bar, total=total, completed=flow.moved, refresh=True)
        except (OSError, ValueError):  # the terminal has gone; the transfer goes on
            self._is_over = True
            self._stop()

    def _new_bars(self) -> Progress | None:
        from rain.client.display import bars  # noqa: PLC0415 # loads rich

        return bars.transfer_bars(self._console)

    def _stop(self) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            with suppress(OSError, ValueError):  # as above
                bars.stop()


def _may_be_seen() -> bool:
    """A cheap check whether anybody can see a bar."""
    if in_a_task():
        return False
    is_terminal: Callable[[], bool] | None = getattr(sys.stderr, "isatty", None)
    with suppress(ValueError):  # it is closed
        return "ipykernel" in sys.modules or (is_terminal is not None and is_terminal())
    return False
