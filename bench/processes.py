"""Starts Rain's daemons for a measurement, and reads what they have used of the CPU."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import click
from attrs import frozen

HOST = "127.0.0.1"
START_LIMIT_SECONDS = 30
STOP_LIMIT_SECONDS = 10
LOOK_AGAIN_SECONDS = 0.02


def cpu_seconds(stat: str, ticks_per_second: int) -> float:
    """User and system time of a process, from the text of /proc/PID/stat."""
    # The second field is the program's name in brackets, and may hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / ticks_per_second


@frozen
class Daemon:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def cpu_seconds(self) -> float:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return cpu_seconds(stat, os.sysconf("SC_CLK_TCK"))

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
def _started(name: str, arguments: Sequence[str], folder: Path) -> Generator[Daemon, None, None]:
    ready_file, log = folder / f"{name}.ready", folder / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from rain.cli import main; main()",
                *arguments,
                "--ready-file",
                str(ready_file),
                "--logdir",
                str(folder / name),
            ],
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def zero_cluster(governors: int) -> Generator[ZeroCluster, None, None]:
    """Run a server and some zero governors, and leave nothing behind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        port = _free_port()
        address = f"{HOST}:{port}"
        server = stack.enter_context(_started("server", ["server", "--listen", address], folder))
        for number in range(governors):
            name = f"governor-{number}"
            workdir = str(folder / f"{name}.work")
            stack.enter_context(
                _started(name, ["governor", address, "--zero", "--workdir", workdir], folder)
            )
        yield ZeroCluster(server, port)


@contextmanager
def recorded_cluster(governors: int, cpus: int, record: Path) -> Generator[int, None, None]:
    """Run a server that records, and governors; the server's port."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        port = _free_port()
        address = f"{HOST}:{port}"
        words = ["server", "--listen", address, "--no-http", "--no-event-log"]
        stack.enter_context(_started("server", [*words, "--record", str(record)], folder))
        for number in range(governors):
            name = f"governor-{number}"
            words = ["governor", address, "--cpus", str(cpus)]
            words += ["--workdir", str(folder / f"{name}.work")]
            stack.enter_context(_started(name, words, folder))
        yield port
