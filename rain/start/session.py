"""Runs one governor on another host through ssh, as the job of a kind that scales.

`python -m rain.start.session KEY FILE HOST COMMAND...` reads a script from its standard input
(`remote.start_script`), adds the credentials of the governor, and runs it with the command, which
reaches the host. KEY is `--secret-file`, `--tls`, or `--insecure` with any file. The reports of the
governor go to descriptor 3.

SIGUSR2 or SIGTERM lets the governor drain, and SIGTERM after that ends it. It ends as well if this
process or the connection does.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import FrameType

from attrs import define

from rain.base.admission import MemberKind
from rain.common.secret_file import read_secret
from rain.start.children import Lines
from rain.start.remote import (
    DRAIN,
    READY_FD,
    Ended,
    Failed,
    LogLine,
    Note,
    Ready,
    Report,
    Started,
    read_report,
)
from rain.tls.identity import Identity

SECRET, CERTIFICATE = "@RAIN-SECRET@", "@RAIN-CERTIFICATE@"
"""Stand in the script where the secret of the cluster or a certificate is put in."""

_OUTPUT = 1
"""The file of the job, which has the last words of ssh and of the governor in it."""

_GOODBYE = 20.0
"""Seconds in which the host has to say that the governor has ended."""

_SIGNALS = (signal.SIGUSR2, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@define(eq=False)
class Session:
    """The governor, seen from here."""

    ssh: subprocess.Popen[bytes]
    started: bool = False
    drains: bool = False
    given_up: float | None = None  # when the host was told to end it
    status: int | None = None  # that of the governor, when it has ended

    def note(self, report: Report | None) -> None:
        """Handles a report of the host."""
        match report:
            case Started():
                self.started = True
                if self.drains:
                    self._say(DRAIN)
            case Ready(address):
                _tell(f"ready {address}")
            case Note(text):
                _tell(f"note {text}")
            case Failed(reason):
                _print(reason)
            case Ended(status):
                self.status = status
                if status:
                    _print(f"ended with status {status}")
            case LogLine(text):
                _print(text)
            case _:
                pass

    def signalled(self, number: int) -> None:
        """Handles a signal that was sent to this process."""
        if number == signal.SIGUSR2 or not self.drains:
            if not self.drains and self.started:
                self._say(DRAIN)
            self.drains = True
        elif self.given_up is None:
            self.given_up = monotonic()
            assert self.ssh.stdin is not None
            with suppress(BrokenPipeError):
                self.ssh.stdin.close()

    def _say(self, word: bytes) -> None:
        assert self.ssh.stdin is not None
        if self.given_up is not None:
            return
        with suppress(BrokenPipeError):  # it has ended
            self.ssh.stdin.write(word)
            self.ssh.stdin.flush()


def run(command: Sequence[str], script: str) -> int:
    """Runs the governor until it ends; returns its exit status, or else that of the session."""
    with _signals() as signals:
        pipe = subprocess.PIPE
        ssh = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=_OUTPUT)
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        os.set_blocking(ssh.stdout.fileno(), False)
        session, lines = Session(ssh), Lines(ssh.stdout.fileno())
        with suppress(BrokenPipeError):  # the session has ended, and has said why
            ssh.stdin.write(script.encode())
            ssh.stdin.flush()
        poll = select.poll()
        for descriptor in (lines.fd, signals.fileno()):
            poll.register(descriptor, select.POLLIN)
        while not lines.ended:
            left = None
            if session.given_up is not None:
                left = 1000 * max(session.given_up + _GOODBYE - monotonic(), 0.0)
            if not poll.poll(left):
                ssh.kill()
            for line in lines.read():
                session.note(read_report(line))
            with suppress(BlockingIOError):
                for number in signals.recv(64):
                    session.signalled(number)
        status = ssh.wait()
        return status if session.status is None else session.status


@contextmanager
def _signals() -> Generator[socket.socket]:
    """A descriptor from which the numbers of signals are read."""
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, _only_woken)
        yield reader
        signal.set_wakeup_fd(-1)


def _only_woken(number: int, frame: FrameType | None) -> None:
    del number, frame


def _tell(line: str) -> None:
    os.write(READY_FD, f"{line}\n".encode())


def _print(line: str) -> None:
    os.write(_OUTPUT, f"{line}\n".encode())


def main(arguments: Sequence[str]) -> int:
    """Runs one governor on another host, as the docstring of this module says."""
    script, (key, file, host, *command) = sys.stdin.read(), arguments
    if key == "--secret-file":
        script = script.replace(SECRET, read_secret(Path(file)).key.decode())
    elif key == "--tls":
        ours = Identity.read(Path(file), MemberKind.GOVERNOR)
        script = script.replace(CERTIFICATE, ours.path.read_text())
    _tell(host.rpartition("@")[2])
    return run(command, script)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
