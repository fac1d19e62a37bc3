"""Real daemons for whole tests: each is a process of the test's own, ready before it is used."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from rain.daemon.user_key import user_key

READY_SECONDS = 30.0
END_SECONDS = 15.0


@define(eq=False)
class Daemon:
    """A running server or governor, and the addresses that it said."""

    process: subprocess.Popen[str]
    address: str
    errors: Path
    http: str = ""  # where a server serves HTTP

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """Dies at once, as by an accident, and is gone when this returns."""
        self.process.kill()
        self.process.wait(END_SECONDS)

    def end(self) -> int:
        """Ends in order; the exit status."""
        self.process.terminate()
        return self.process.wait(END_SECONDS)


def http_password(address: str) -> dict[str, str]:
    """The header with which the user of the tests reads from a server that has no other secret."""
    token = user_key()[0].http_token(int(address.rpartition(":")[2]))
    return {"authorization": f"Bearer {token}"}


@contextmanager
def daemon(
    folder: Path,
    name: str,
    *arguments: str,
    on: Sequence[str] = (),
    python: str = sys.executable,
) -> Generator[Daemon, None, None]:
    """Starts `python -m rain ARGUMENTS`, with the consistency checker on.

    `on` is the command that starts it on another machine, if it is to be there.
    """
    ready_read, ready_write = os.pipe()
    errors = folder / f"{name}.err"
    with errors.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [
                *(*on, python, "-m", "rain", *arguments),
                *("--logdir", str(folder / f"{name}-logs"), "--ready-fd", str(ready_write)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            text=True,
            pass_fds=(ready_write,),
            env={**os.environ, "RAIN_DEBUG_MODE": "1"},
        )
    os.close(ready_write)
    try:
        address, *http = _addresses(ready_read, errors)
        started = Daemon(process, address, errors, *http)
        yield started
    finally:
        os.close(ready_read)
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)  # a stopped one would not hear of its end
            process.send_signal(signal.SIGINT)  # at once: a governor would finish its tasks first
            process.wait(END_SECONDS)


@contextmanager
def server(folder: Path, *arguments: str) -> Generator[Daemon, None, None]:
    """A server on a free port of this machine, which serves HTTP, too."""
    with daemon(folder, "server", "server", "--listen", "127.0.0.1:0", *arguments) as started:
        yield started


@contextmanager
def governor(
    folder: Path,
    name: str,
    address: str,
    cpus: int = 1,
    *arguments: str,
    on: Sequence[str] = (),
    python: str = sys.executable,
) -> Generator[Daemon, None, None]:
    """A governor of a server."""
    work = str(folder / f"{name}-work")
    own = ("governor", address, "--cpus", str(cpus), "--workdir", work)
    with daemon(folder, name, *own, *arguments, on=on, python=python) as started:
        yield started


def children(pid: int) -> list[int]:
    """The processes that this one has started and that still run."""
    tasks = Path(f"/proc/{pid}/task")
    return [
        int(child)
        for task in tasks.iterdir()
        for child in (task / "children").read_text(encoding="ascii").split()
    ]


def wait_for_end(pid: int) -> None:
    """Returns when a process that is not ours to wait for has gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([descriptor], [], [], END_SECONDS)
        assert readable, f"the process {pid} still runs"
    finally:
        os.close(descriptor)


def _addresses(ready_read: int, errors: Path) -> list[str]:
    readable, _, _ = select.select([ready_read], [], [], READY_SECONDS)
    line = os.read(ready_read, 256).decode() if readable else ""
    assert line.startswith("ready "), errors.read_text(encoding="utf-8")
    return line.splitlines()[0].split()[1:]  # a note for the user may follow
