"""A named pipe, so that a test and a task in another process can wait for each other.

A task hears with `open(path).readline()` and says with `Path(path).write_text("word\\n")`: both
wait for nobody but the test.
"""

from __future__ import annotations

import os
import select
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

PATIENCE = 30.0


@frozen
class NamedPipe:
    """The test's end, which both reads and writes."""

    path: str
    _descriptor: int

    def say(self) -> None:
        """One task that hears, or will, goes on."""
        os.write(self._descriptor, b"go\n")

    def hear(self) -> str:
        """Waits for a task to say something."""
        assert select.select([self._descriptor], [], [], PATIENCE)[0], "nobody has said anything"
        return os.read(self._descriptor, 1000).decode().rstrip()


@contextmanager
def named_pipe(path: Path) -> Generator[NamedPipe]:
    """Makes one."""
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield NamedPipe(str(path), descriptor)
    finally:
        os.close(descriptor)
