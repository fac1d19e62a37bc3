"""Where a process spends its time, when somebody wants to know: `RAIN_PROFILE=FOLDER`.

A timer of the kernel counts the CPU time of the process and interrupts it from time to time; each
time the stack of the main thread becomes one line of a file in the folder, outermost function
first, with semicolons between: the form that programs which draw flame graphs read. A line is
written at once, so that nothing is lost when an executor is killed. Without the variable nothing
happens.
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
    """Samples this process from now on, if the environment says so."""
    folder = os.environ.get(VARIABLE)
    if folder:
        _start(f"{folder}/{role}-{os.getpid()}.stacks")


def _start(path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def sample(number: int, frame: FrameType | None) -> None:
        os.write(file, (stack_of(frame) + "\n").encode())

    signal.signal(signal.SIGPROF, sample)
    signal.siginterrupt(signal.SIGPROF, False)  # what waits in the kernel goes on waiting
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    atexit.register(_stop)


def _stop() -> None:
    # Python lets go of our handler before it ends, and the signal itself would kill the process.
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)


def stack_of(frame: FrameType | None) -> str:
    """The names of the functions of a stack, outermost first."""
    names: list[str] = []
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))
