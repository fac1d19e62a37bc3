"""The time limit of scheduler runs: measures each run, and ends one that takes too long.

A system timer sends the signal SIGALRM, and Python calls the handler in the main thread, between
two instructions of the code that runs there. If that is the scheduler's code, the handler raises
`SchedulerInterrupted` in it. If it is a step of the plan, the step is completed and then raises by
itself.

Code that catches every exception would go on. So the signal is sent again. The scheduler first has
`AGAIN` to clean up. Then a signal follows each exception after a few microseconds, each time after
another delay: soon one arrives after the exception was caught and before the next `try` begins, and
leaves the loop. Each further loop around takes some hundred times as many signals.

The timer is not set for each run, because setting and stopping it costs more than a small run. It
stays when a run has ended; if it expires during a later run, it is set for what is left of that
one. If no run is guarded then, it stops.

Only Python code and system calls that wait can be interrupted. A library that computes for an hour
without returning to Python holds the server for an hour.
"""

from __future__ import annotations

import atexit
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from rain.graph import Graph
from rain.scheduler.api import STEPS, News, Plan, SchedulerInterrupted
from rain.server.core.scheduling import Ask

LEAST = 0.001
"""Seconds: a timer that is set for less might be one that is stopped."""

AGAIN = 0.1
"""Seconds until a scheduler that still runs is interrupted once more."""

DELAYS = 50
"""The delays of further signals go up to this many microseconds."""

_STEPS = frozenset(step.__code__ for step in STEPS)


class TimeGuard:
    """Guards the runs of a scheduler. Make one in a process, in the main thread.

    No other code in this process may use SIGALRM meanwhile.
    """

    def __init__(self, limit: float, stopwatch: Callable[[], float]) -> None:
        self._limit = limit
        self._stopwatch = stopwatch
        self._took = 0.0
        self._started = 0.0  # when the run that is guarded has begun
        self._plan: Plan | None = None  # of that run
        self._ticking = False  # the timer runs
        self._strikes = 0
        self._own = TimeGuard.__call__.__code__
        signal.signal(signal.SIGALRM, self._strike)
        # When Python ends, it restores the default action of the signal, which would kill the
        # process.
        atexit.register(signal.setitimer, signal.ITIMER_REAL, 0.0)

    def __call__(self, ask: Ask, graph: Graph, news: News, plan: Plan) -> None:
        """Lets the scheduler write its plan; at the limit the plan is over."""
        self._started = started = self._stopwatch()
        self._strikes = 0
        self._plan = plan
        if not self._ticking:
            self._ticking = True
            signal.setitimer(signal.ITIMER_REAL, self._limit)
        try:
            ask(graph, news, plan)
        finally:
            # Nothing is raised in this function itself, nor, from here on, in what it calls.
            self._plan = None
            if self._strikes:
                self._ticking = False
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._took = self._stopwatch() - started
            if self._took > self._limit:
                plan.over = True

    def take(self) -> float:
        """How long the last run took, told once; 0 when there was none."""
        took, self._took = self._took, 0.0
        return took

    def _strike(self, number: int, frame: FrameType | None) -> None:
        """The time may be over; `frame` is what runs just now."""
        plan = self._plan
        if plan is None:
            self._ticking = False
            return
        if not self._strikes:
            left = self._started + self._limit - self._stopwatch()
            if left > 0.0:  # it was set for an earlier run
                signal.setitimer(signal.ITIMER_REAL, max(left, LEAST))
                return
        frames = self._guarded(frame)
        if not frames:  # it has not begun, or has just ended
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        plan.over = True
        self._strikes += 1
        in_step = any(found.f_code in _STEPS for found in frames)
        cleans_up = self._strikes == 1
        delay = AGAIN if in_step or cleans_up else (self._strikes % DELAYS + 1) * 1e-6
        signal.setitimer(signal.ITIMER_REAL, delay)
        if not in_step:
            raise SchedulerInterrupted

    def _guarded(self, frame: FrameType | None) -> list[FrameType]:
        """The frames from here out to our own, none of which is ours."""
        frames: list[FrameType] = []
        while frame is not None and frame.f_code is not self._own:
            frames.append(frame)
            frame = frame.f_back
        return frames


@contextmanager
def guard_meanwhile(limit: float) -> Generator[TimeGuard]:
    """A guard for programs other than the server; restores the signal at the end."""
    timer = signal.setitimer(signal.ITIMER_REAL, 0.0)
    handler = signal.getsignal(signal.SIGALRM)
    try:
        yield TimeGuard(limit, time.perf_counter)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
