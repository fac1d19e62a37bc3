"""Signals that end a start, as a descriptor to wait for."""

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
class SignalDescriptor:
    """A descriptor that becomes readable when a signal has come."""

    socket: socket.socket

    def fileno(self) -> int:
        return self.socket.fileno()

    def check(self) -> None:
        """Raises InterruptedStartError for the first signal that has come."""
        try:
            numbers = self.socket.recv(64)
        except BlockingIOError:
            return
        raise InterruptedStartError(numbers[0])


@contextmanager
def interrupts() -> Generator[SignalDescriptor]:
    """Replaces signal handlers in its scope: signals become readable and interrupt nothing.

    So no process can be started without being recorded, and no cleanup is left half done.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        # The signal number arrives in the pipe even before the handler has run.
        old_handlers = {number: signal.signal(number, _ignore) for number in INTERRUPTS}
        old_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield SignalDescriptor(reader)
        finally:
            signal.set_wakeup_fd(old_fd)
            for number, handler in old_handlers.items():
                signal.signal(number, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    del number, frame
