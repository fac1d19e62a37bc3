"""What programs print: files that have no name, unless the task has asked for its stdout.

To make a file and to remove it takes longer than to start a small program, and most print nothing.
So a file that is still empty is used again by the next program.
"""

from __future__ import annotations

import os
from pathlib import Path

from attrs import define, field, frozen

from rain.common.printed import as_logs, excerpt

_WANTED = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


@frozen
class Said:
    """Open files with the stdout and the stderr of one program."""

    stdout: int
    stderr: int


@define(eq=False)
class Spares:
    """Hands out files in a folder, where they cannot be seen."""

    folder: Path
    _empty: list[int] = field(init=False, factory=list)

    def take(self, stdout: str) -> Said:
        """Files for a program; its stdout goes to this path if there is one."""
        printed = os.open(stdout, _WANTED, 0o666) if stdout else self._one()
        try:
            return Said(printed, self._one())
        except OSError:
            os.close(printed)
            raise

    def _one(self) -> int:
        return self._empty.pop() if self._empty else _nameless(self.folder)

    def give_back(self, said: Said) -> None:
        """The program has ended, and nobody will ask any more what it has printed."""
        for descriptor in (said.stdout, said.stderr):
            found = os.fstat(descriptor)
            if found.st_size or found.st_nlink:
                os.close(descriptor)
            else:
                self._empty.append(descriptor)

    def close(self) -> None:
        """Lets go of them."""
        while self._empty:
            os.close(self._empty.pop())


def _nameless(folder: Path) -> int:
    path = folder / ".printed"
    descriptor = os.open(path, _NEW, 0o600)
    path.unlink()
    return descriptor


def logs_of(said: Said, *, hides_stdout: bool) -> str:
    """What is kept of it for users; an stdout that is the task's output is no log."""
    out = "" if hides_stdout else excerpt(said.stdout, os.fstat(said.stdout).st_size)
    return as_logs(out, excerpt(said.stderr, os.fstat(said.stderr).st_size))


def tail(descriptor: int, most: int) -> str:
    """The end of a file, as text."""
    size = os.fstat(descriptor).st_size
    said = os.pread(descriptor, most, max(size - most, 0)).decode(errors="replace").rstrip()
    return f"(the last {most} of {size} bytes)\n{said}" if size > most else said
