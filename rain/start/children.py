"""Daemons that are being started, each watched by two descriptors.

One carries the reports of the child, the other becomes readable when its process ends; nothing is
polled. A child is a process of this machine (`local_child.py`) or an ssh session with a daemon of
another machine (`remote_child.py`).
"""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from attrs import define, field

from rain.base.errors import StartError
from rain.common.signals import signal_name
from rain.start.plan import PlannedDaemon
from rain.start.processes import ProcessMark
from rain.start.remote import TAIL_LINES, Report, read_report

_TAIL_BYTES = 8192


@define(eq=False)
class Lines:
    """Reads whole lines from a non-blocking descriptor."""

    fd: int
    _rest: bytes = b""
    ended: bool = False

    def read(self) -> Iterator[str]:
        while not self.ended:
            try:
                piece = os.read(self.fd, 65536)
            except BlockingIOError:
                return
            self.ended = not piece
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace")


class Process(Protocol):
    """A child of this process."""

    pid: int
    returncode: int | None

    def wait(self) -> int: ...


@define(eq=False)
class Child(ABC):
    """A daemon that is being started."""

    daemon: PlannedDaemon
    process: Process
    reports: int  # the descriptor of its reports
    mark: ProcessMark | None = None  # the daemon's process, once it is known
    address: str = field(default="", init=False)  # where it serves, once it is ready
    http: str = field(default="", init=False)  # where it serves HTTP, if it does
    said: str = field(default="", init=False)  # a note for the user
    lines: Lines = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lines = Lines(self.reports)

    @property
    def ready(self) -> bool:
        """Whether the daemon serves, and its process is known, so that it can be ended."""
        return bool(self.address) and self.mark is not None

    def hear(self) -> bool:
        """Reads its reports; returns whether there may be more."""
        for line in self.lines.read():
            self.note(read_report(line))
        return not self.lines.ended

    @abstractmethod
    def note(self, report: Report | None) -> None:
        """Applies one report; None is an unknown line."""

    @abstractmethod
    def why_ended(self) -> str:
        """Why its process has ended."""

    @abstractmethod
    def why_silent(self) -> str:
        """Describes a child that is still not ready."""


def open_log(path: Path, *, again: bool = False) -> BinaryIO:
    """Creates a private file for a daemon's output; the server prints its HTTP password there.

    If a daemon is started again, its output is appended.
    """
    begin = os.O_APPEND if again else os.O_TRUNC
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | begin | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)  # it may exist from an earlier start
    return os.fdopen(descriptor, "wb")


def popen(
    daemon: PlannedDaemon,
    command: list[str],
    *,
    stdin: int,
    stdout: int | IO[bytes],
    stderr: IO[bytes],
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    except OSError as error:
        raise StartError(
            f"{daemon.name} cannot be started: {command[0]}: {error.strerror}"
        ) from error


def end_status(child: Child) -> int:
    """The exit status of a process that has ended, or minus the signal that killed it.

    The process is not reaped, so that its pid is not reused yet.
    """
    info = os.waitid(os.P_PID, child.process.pid, os.WEXITED | os.WNOWAIT)
    if info is None:
        raise AssertionError("only without WNOHANG")
    return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status


def log_end(log: Path, begins: int = 0) -> str:
    """Describes the end of a log, without the first bytes, which an earlier daemon has written."""
    try:
        with log.open("rb") as file:
            file.seek(max(begins, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return quoted(text.splitlines()[-TAIL_LINES:])


def quoted(lines: list[str]) -> str:
    if not lines:
        return "is empty"
    return "ends with:" + "".join(f"\n  | {line}" for line in lines)


def how_ended(status: int) -> str:
    return f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
