"""Starts Rain's daemons for a measurement, and reads what they have used of the CPU."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import clock_gettime, monotonic

import click
from attrs import frozen

HOST = "127.0.0.1"
START_LIMIT_SECONDS = 30
STOP_LIMIT_SECONDS = 10
LOOK_AGAIN_SECONDS = 0.02


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, over all of its threads."""
    # The kernel's clock of that process: its number is made of the pid, as in clock_getcpuclockid.
    return clock_gettime(~pid << 3 | 2)


def resident_bytes(pid: int) -> int:
    """How much memory a process has of the machine's."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@frozen
class Daemon:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def resident_bytes(self) -> int:
        return resident_bytes(self.process.pid)

    def wait_ready(self, ready_file: Path) -> None:
        deadline = monotonic() + START_LIMIT_SECONDS
        while not ready_file.exists():
            try:
                self.process.wait(timeout=LOOK_AGAIN_SECONDS)
            except subprocess.TimeoutExpired:
                if monotonic() < deadline:
                    continue
            raise click.ClickException(f"{self.name} did not start:\n{self.log.read_text()}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@frozen
class ZeroCluster:
    """A server whose governors answer "finished" at once."""

    server: Daemon
    port: int


@contextmanager
def _started(name: str, command: Sequence[str], folder: Path) -> Generator[Daemon, None, None]:
    """A program of Python that writes a file when it is ready."""
    ready_file, log = folder / f"{name}.ready", folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command, "--ready-file", str(ready_file)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    daemon = Daemon(name, process, log)
    try:
        daemon.wait_ready(ready_file)
        yield daemon
    finally:
        daemon.stop()


def _rain(name: str, *words: str, folder: Path) -> AbstractContextManager[Daemon]:
    """A server or a governor."""
    return _started(name, ("-m", "rain", *words, "--logdir", str(folder / name)), folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def zero_cluster(governors: int, *, event_log: bool = False) -> Generator[ZeroCluster, None, None]:
    """Run a server and some zero governors, and leave nothing behind.

    The governors share one process: a hundred of their own would take the machine from the server.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        port = _free_port()
        words = ["server", "--listen", f"{HOST}:{port}", "--no-http"]
        words += [] if event_log else ["--no-event-log"]
        server = stack.enter_context(_rain("server", *words, folder=folder))
        zeros = ("-m", "bench.zeros", str(port), str(governors))
        stack.enter_context(_started("governors", zeros, folder))
        yield ZeroCluster(server, port)


@contextmanager
def recorded_cluster(governors: int, cpus: int, record: Path) -> Generator[int, None, None]:
    """Run a server that records, and governors; the server's port."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        port = _free_port()
        address = f"{HOST}:{port}"
        words = ["server", "--listen", address, "--no-http", "--no-event-log"]
        stack.enter_context(_rain("server", *words, "--record", str(record), folder=folder))
        for number in range(governors):
            name = f"governor-{number}"
            words = ["governor", address, "--cpus", str(cpus)]
            words += ["--workdir", str(folder / f"{name}.work")]
            stack.enter_context(_rain(name, *words, folder=folder))
        yield port
