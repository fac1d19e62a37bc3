"""Signals that end a start, as something to wait for beside all else."""

from __future__ import annotations

import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from attrs import define

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedStartError(Exception):
    """A signal came while a cluster was being started."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.status = 128 + number


@define(eq=False)
class Interrupts:
    """Can be read once a signal has come."""

    socket: socket.socket

    def fileno(self) -> int:
        return self.socket.fileno()

    def check(self) -> None:
        """Raises for the first signal that has come."""
        try:
            numbers = self.socket.recv(64)
        except BlockingIOError:
            return
        raise InterruptedStartError(numbers[0])


@contextmanager
def interrupts() -> Generator[Interrupts]:
    """While this is open, signals interrupt nothing: they are something to be read.

    So no process can be started without being remembered, and no cleaning up is left half done.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        # The signal's number arrives in the pipe whether the handler has run or not.
        old_handlers = {number: signal.signal(number, _ignore) for number in INTERRUPTS}
        old_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield Interrupts(reader)
        finally:
            signal.set_wakeup_fd(old_fd)
            for number, handler in old_handlers.items():
                signal.signal(number, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    del number, frame
