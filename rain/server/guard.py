"""Time for the scheduler: how long a run took, and the end of one that takes too long.

A timer of the system sends the signal SIGALRM, and Python calls the handler in the main thread,
between two instructions of whatever runs there. If that is the scheduler's code, the handler raises
`SchedulerInterrupted` in it. If it is a step of the plan, the step is made to its end and raises
then itself.

Code that catches everything would go on. So the timer goes on, too; from the second time on, the
first instruction that is executed after the exception raises another one, which leaves the handler
that has caught the first.

The timer is not set for each run: to set it and to stop it costs more than a small run. It goes on
when a run has ended, and when it has run down in the middle of a later one, it is set for what that
one has left. If nobody is guarded then, it stops.

Only Python's own instructions can be interrupted, and calls of the system that wait. A library that
computes for an hour without coming back to Python holds the server for an hour.
"""

from __future__ import annotations

import atexit
import opcode
import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rain.graph import Graph
from rain.scheduler.api import STEPS, News, Plan, SchedulerInterrupted
from rain.server.scheduling import Ask

LEAST = 0.001
"""Seconds: a timer that is set for less might be one that is stopped."""

AGAIN = 0.1
"""Seconds until a scheduler that still runs is interrupted once more."""

_STEPS = frozenset(step.__code__ for step in STEPS)


_UNTOUCHABLE = frozenset(
    opcode.opmap[name] for name in ("PUSH_EXC_INFO", "COPY", "POP_EXCEPT", "RERAISE")
)
"""Python's instructions that keep count of which exception is being handled. It would go wrong if
one of them were left out."""


class TimeGuard:
    """Guards the runs of a scheduler; there is one in a process, and it is made in the main thread.

    Whoever else uses SIGALRM in this process is in its way.
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
        # When Python ends, it gives the signal back to the system, which would kill the process.
        atexit.register(signal.setitimer, signal.ITIMER_REAL, 0.0)

    def __call__(self, ask: Ask, graph: Graph, news: News, plan: Plan) -> None:
        """Lets the scheduler write its plan; at the limit the plan is over."""
        self._started = started = self._stopwatch()
        tracer = sys.gettrace()
        self._strikes = 0
        self._plan = plan
        if not self._ticking:
            self._ticking = True
            signal.setitimer(signal.ITIMER_REAL, self._limit, AGAIN)
        try:
            ask(graph, news, plan)
        finally:
            # Nothing is raised in this function itself, nor, from here on, in what it calls.
            self._plan = None
            if self._strikes:
                self._ticking = False
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                if self._strikes > 1:
                    sys.settrace(tracer)
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
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            return
        if not self._strikes:
            left = self._started + self._limit - self._stopwatch()
            if left > 0.0:  # it was set for an earlier run
                signal.setitimer(signal.ITIMER_REAL, max(left, LEAST), AGAIN)
                return
        frames = self._guarded(frame)
        if not frames:
            return
        plan.over = True
        self._strikes += 1
        if any(found.f_code in _STEPS for found in frames):
            return
        if self._strikes > 1:
            for found in frames:
                found.f_trace, found.f_trace_opcodes = _raise, True
            sys.settrace(_raise)
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
    """A guard for who runs a scheduler and is no server; then the signal is whose it was."""
    timer = signal.setitimer(signal.ITIMER_REAL, 0.0)
    handler = signal.getsignal(signal.SIGALRM)
    try:
        yield TimeGuard(limit, time.perf_counter)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def _raise(frame: FrameType, event: str, argument: Any) -> Any:
    """A tracer, which Python forgets when it has raised: in what is executed next."""
    if event == "call":
        raise SchedulerInterrupted
    if event == "opcode" and frame.f_code.co_code[frame.f_lasti] not in _UNTOUCHABLE:
        raise SchedulerInterrupted
    return _raise
