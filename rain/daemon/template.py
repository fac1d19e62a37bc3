"""Starts several daemons on this machine as forks of one process that has imported their code.

`Template` starts that process and sends it an order for each copy (`rain.daemon.copies`). A copy
reports its pid and waits. When all pids are known, `release` lets the copies continue; the template
then ends, and they become children of this process: a `DaemonCopy` can do everything that a process
of `subprocess` can do.

This works because the kernel gives orphans to their nearest subreaper ancestor, and this process is
a subreaper while a template runs.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

from attrs import define

from rain.daemon.copies import CopyOrder, parse_birth, spell_order

COMMAND = "template"
"""The command of `rain` that runs the template (`rain.cli.template_command`)."""

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


@define(eq=False)
class DaemonCopy:
    """A child that this process did not start itself; it works like a `subprocess.Popen`."""

    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._ask(os.WNOHANG)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None and self.returncode is None and not self._ends_within(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._ask(0) if self.returncode is None else self.returncode

    def terminate(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def _ask(self, options: int) -> int:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:
            pid, status = self.pid, 0  # another part of the program has reaped it; Popen says 0 too
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode or 0

    def _ends_within(self, seconds: float) -> bool:
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(max(0.0, seconds) * 1000))
        finally:
            os.close(descriptor)


class Template:
    """The process that is copied. Its descriptor becomes readable when `hear` should be called."""

    def __init__(
        self,
        command: Sequence[str],
        output: IO[bytes],
        errors: IO[bytes],
        *,
        new_session: bool,
    ) -> None:
        self.new_session = new_session
        self._pids: dict[int, int] = {}
        self._asked = 0
        self._released = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._gate, self._release = os.pipe()  # each copy reads one byte
        _orphans.want()
        try:
            self.process = subprocess.Popen(
                [*command, COMMAND],
                bufsize=0,
                stdin=theirs.fileno(),
                stdout=output,
                stderr=errors,
                start_new_session=new_session,
                process_group=None if new_session else 0,
            )
        except OSError:
            self._close()
            raise
        finally:
            theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._released:
            self.abandon()

    def fileno(self) -> int:
        return self._socket.fileno()

    def order(
        self,
        name: str,
        arguments: Sequence[str],
        output: IO[bytes],
        errors: IO[bytes],
        options: dict[str, int],
        held: Sequence[int] = (),
    ) -> None:
        """Orders a copy; it gets the descriptors of the options and keeps some others open."""
        order = CopyOrder(self._asked, name, tuple(arguments), self.new_session, tuple(options))
        self._asked += 1
        descriptors = [output.fileno(), errors.fileno(), self._gate, *options.values(), *held]
        with suppress(BrokenPipeError):  # it has ended, which `hear` reports
            socket.send_fds(self._socket, [spell_order(order)], descriptors)

    def hear(self) -> bool:
        """Reads the pid of a copy; False if the template has ended before all copies ran."""
        try:
            text = self._socket.recv(64)
        except ConnectionResetError:
            return False
        if text:
            number, pid = parse_birth(text)
            self._pids[number] = pid
        return bool(text)

    @property
    def complete(self) -> bool:
        """Whether the pids of all ordered copies are known."""
        return len(self._pids) == self._asked

    def copies(self) -> list[DaemonCopy]:
        """The copies in the order in which they were ordered."""
        return [DaemonCopy(self._pids[number]) for number in range(self._asked)]

    def release(self) -> None:
        """Lets all copies continue. They are children of this process when this returns."""
        self._released = True
        os.write(self._release, bytes(self._asked))
        self._socket.shutdown(socket.SHUT_WR)
        self.process.wait()
        self._close()

    def abandon(self) -> None:
        """Ends the template and the copies that were not released."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        while self.hear():  # until no copy is left that could report
            pass
        self.process.wait()
        self._close()
        for pid in self._pids.values():
            DaemonCopy(pid).wait()

    def _close(self) -> None:
        self._socket.close()
        os.close(self._gate)
        os.close(self._release)
        _orphans.want_no_more()


class _Orphans:
    """Makes this process a subreaper while at least one caller needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0
        self._before = False  # the setting to restore

    def want(self) -> None:
        with self._lock:
            if not self._wanted:
                self._before = reaps_orphans()
                reap_orphans(True)
            self._wanted += 1

    def want_no_more(self) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                reap_orphans(self._before)


_orphans = _Orphans()


def reap_orphans(wanted: bool) -> None:
    """Makes this process a subreaper, or no longer."""
    import ctypes  # noqa: PLC0415 # would cost each import of the client two milliseconds

    _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(wanted))


def reaps_orphans() -> bool:
    """Whether this process is a subreaper."""
    import ctypes  # noqa: PLC0415

    found = ctypes.c_int()
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(found))
    return bool(found.value)


def _prctl(option: int, argument: object) -> None:
    import ctypes  # noqa: PLC0415

    unused = ctypes.c_ulong(0)
    if ctypes.CDLL(None, use_errno=True).prctl(option, argument, unused, unused, unused):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
