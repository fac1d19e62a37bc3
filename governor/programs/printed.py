"""Collects the output of programs in unnamed files, unless the stdout is an output of the task.

Each program gets its own files. A child that outlives its program may still hold them open, so they
are never reused.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from rain.common.printed import as_logs, keep, readable, text_of
from rain.governor.watching import MOST, Look, Unsent

_WANTED = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
_NAMELESS = os.O_RDWR | os.O_TMPFILE | os.O_APPEND | os.O_CLOEXEC


@frozen
class ProgramStreams:
    """Open files with the stdout and the stderr of one program."""

    stdout: int
    stderr: int

    @classmethod
    def open_in(cls, folder: Path, stdout: str = "") -> ProgramStreams:
        """Opens new unnamed files in a folder; stdout goes to a path if one is given."""
        printed = os.open(stdout, _WANTED, 0o666) if stdout else _nameless(folder)
        try:
            return cls(printed, _nameless(folder))
        except OSError:
            os.close(printed)
            raise

    def close(self) -> None:
        """Closes the files; the output cannot be read any more."""
        os.close(self.stdout)
        os.close(self.stderr)


def _nameless(folder: Path) -> int:
    try:
        return os.open(folder, _NAMELESS, 0o600)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EISDIR}:
            raise
    path = folder / f".printed-{secrets.token_hex(8)}"  # this filesystem has no O_TMPFILE
    descriptor = os.open(path, _NEW, 0o600)
    path.unlink()
    return descriptor


def logs_of(said: ProgramStreams, *, hides_stdout: bool) -> str:
    """The part of the output kept for users; a stdout that is the task's output is not a log."""
    out = "" if hides_stdout else _text(said.stdout)
    return as_logs(out, _text(said.stderr))


def _text(descriptor: int) -> str:
    return text_of(keep(descriptor, os.fstat(descriptor).st_size))


def look_at_descriptors(descriptors: Sequence[int | None]) -> Look:
    """Looks at what a program has printed; a stream without a descriptor is not looked at."""

    def look(stream: int, told: int) -> Unsent:
        descriptor = descriptors[stream]
        return (b"", 0) if descriptor is None else _unsent(descriptor, told)

    return look


def look_at_files(paths: Sequence[Path]) -> Look:
    """Looks at what the call of an executor has printed."""

    def look(stream: int, told: int) -> Unsent:
        path = paths[stream]
        try:
            if path.stat().st_size <= told:
                return b"", 0
            with path.open("rb", buffering=0) as file:
                return _unsent(file.fileno(), told)
        except FileNotFoundError:  # the log folder was tidied up
            return b"", 0

    return look


def _unsent(descriptor: int, told: int) -> Unsent:
    size = os.fstat(descriptor).st_size
    count = max(size - told, 0)
    most = min(count, MOST)
    return os.pread(descriptor, most, size - most), count


def tail(descriptor: int, most: int) -> str:
    """Returns the end of a file as text."""
    size = os.fstat(descriptor).st_size
    said = readable(os.pread(descriptor, most, max(size - most, 0))).rstrip()
    return f"(the last {most} of {size} bytes)\n{said}" if size > most else said
