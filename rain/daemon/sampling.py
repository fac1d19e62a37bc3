"""A sampling profiler for a process, enabled by `RAIN_PROFILE=FOLDER`.

A kernel timer on the CPU time of the process interrupts it periodically. Each time, the stack of
the main thread is written as one line to a file in the folder, outermost function first, separated
by semicolons: the input format of flame graph tools. Lines are written at once, so that nothing is
lost when an executor is killed. Without the variable nothing happens.
"""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType

EVERY = 0.002
"""Seconds of CPU time between two samples."""


VARIABLE = "RAIN_PROFILE"


def start_if_asked(role: str) -> None:
    """Starts to sample this process if the environment asks for it."""
    folder = os.environ.get(VARIABLE)
    if folder:
        _start(f"{folder}/{role}-{os.getpid()}.stacks")


def _start(path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def sample(number: int, frame: FrameType | None) -> None:
        os.write(file, (stack_of(frame) + "\n").encode())

    signal.signal(signal.SIGPROF, sample)
    signal.siginterrupt(signal.SIGPROF, False)  # restart interrupted system calls
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    atexit.register(_stop)


def _stop() -> None:
    # Python removes our handler before it exits, and the signal would then kill the process.
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)


def stack_of(frame: FrameType | None) -> str:
    """The function names of a stack, outermost first."""
    names: list[str] = []
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))
