"""Starts Rain's daemons for a measurement and reads their CPU times."""

import os
import select
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import clock_gettime, perf_counter, sleep

import click
from attrs import frozen

from rain.governor.core.reactor import HEARTBEAT

HOST = "127.0.0.1"
START_LIMIT_SECONDS = 30
STOP_LIMIT_SECONDS = 10

QUIET_SECONDS = 0.6
"""Longer than any order is delayed (`ReactorSettings.little_wait`)."""

QUIET_SHARE = 0.01
"""The fraction of a cpu that a quiet daemon may use, for heartbeats."""

QUIET_LIMIT_SECONDS = 60

IDLE_SECONDS = 3 * HEARTBEAT
"""Long enough for three heartbeats of every governor."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, over all of its threads."""
    # The kernel's clock of that process; its id is derived from the pid, as in clock_getcpuclockid.
    return clock_gettime(~pid << 3 | 2)


def resident_bytes(pid: int) -> int:
    """The resident memory of a process."""
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

    def wait_ready(self, reports: int, patience: float) -> str:
        """Waits until it is ready; returns the address that it reports."""
        readable, _, _ = select.select([reports], [], [], patience)
        report = os.read(reports, 1024).decode() if readable else ""  # nothing if it has ended
        word, _, address = report.strip().partition(" ")
        if word != "ready":
            raise click.ClickException(f"{self.name} did not start:\n{self.log.read_text()}")
        return address

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def quiet_cpu_seconds(daemons: Sequence[Daemon]) -> list[float]:
    """Their CPU times after all have finished their background work."""
    before, busy = [daemon.cpu_seconds() for daemon in daemons], [*daemons]
    for _ in range(int(QUIET_LIMIT_SECONDS / QUIET_SECONDS)):
        sleep(QUIET_SECONDS)
        now = [daemon.cpu_seconds() for daemon in daemons]
        busy = [
            daemon
            for daemon, sooner, later in zip(daemons, before, now, strict=True)
            if later - sooner >= QUIET_SHARE * QUIET_SECONDS
        ]
        if not busy:
            return now
        before = now
    raise click.ClickException(f"{busy[0].name} is not quiet after {QUIET_LIMIT_SECONDS} seconds")


def idle_shares(daemons: Sequence[Daemon]) -> list[float]:
    """The fraction of a cpu that each idle daemon uses for heartbeats."""
    before = quiet_cpu_seconds(daemons)
    start = perf_counter()
    sleep(IDLE_SECONDS)
    seconds = perf_counter() - start
    return [
        (daemon.cpu_seconds() - used) / seconds
        for daemon, used in zip(daemons, before, strict=True)
    ]


@frozen
class ZeroCluster:
    """A server whose governors answer "finished" at once."""

    server: Daemon
    port: int


@contextmanager
def started_program(
    name: str,
    command: Sequence[str],
    folder: Path,
    patience: float = START_LIMIT_SECONDS,
    on: Sequence[str] = (),
) -> Generator[tuple[Daemon, str], None, None]:
    """Starts a Python program that reports its readiness; yields it and its address."""
    log = folder / f"{name}.log"
    reports, theirs = os.pipe()
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*on, sys.executable, *command, "--ready-fd", str(theirs)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs,),
            )
    finally:
        os.close(theirs)  # so that the reports end with the program
    daemon = Daemon(name, process, log)
    try:
        yield daemon, daemon.wait_ready(reports, patience)
    finally:
        daemon.stop()
        os.close(reports)


def rain_daemon(
    name: str, *words: str, folder: Path, on: Sequence[str] = ()
) -> AbstractContextManager[tuple[Daemon, str]]:
    """Starts a server or a governor; `on` is the command that starts it on another machine."""
    command = ("-m", "rain", *words, "--logdir", str(folder / name))
    return started_program(name, command, folder, on=on)


@contextmanager
def rain_server(*words: str, folder: Path) -> Generator[tuple[Daemon, int], None, None]:
    """Starts a server without HTTP; yields it and its port."""
    words = ("server", "--listen", f"{HOST}:0", "--no-http", *words)
    with rain_daemon("server", *words, folder=folder) as (server, address):
        yield server, int(address.rpartition(":")[2])


@contextmanager
def zero_cluster(governors: int, *, event_log: bool = False) -> Generator[ZeroCluster, None, None]:
    """Runs a server and some zero governors, and ends them afterwards.

    The governors share one process: a hundred processes would take the cpus from the server.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        words = [] if event_log else ["--no-event-log"]
        server, port = stack.enter_context(rain_server(*words, folder=folder))
        zeros = ("-m", "bench.zeros", str(port), str(governors))
        stack.enter_context(started_program("governors", zeros, folder))
        yield ZeroCluster(server, port)


@contextmanager
def recorded_cluster(governors: int, cpus: int, record: Path) -> Generator[int, None, None]:
    """Runs a recording server and governors; yields the server's port."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        words = ["--no-event-log", "--record", str(record)]
        _, port = stack.enter_context(rain_server(*words, folder=folder))
        for number in range(governors):
            name = f"governor-{number}"
            words = ["governor", f"{HOST}:{port}", "--cpus", str(cpus)]
            words += ["--workdir", str(folder / f"{name}.work")]
            stack.enter_context(rain_daemon(name, *words, folder=folder))
        yield port


@contextmanager
def fresh_governor() -> Generator[Daemon, None, None]:
    """Runs a server and a governor that has just become ready."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rain-bench-")))
        _, port = stack.enter_context(rain_server("--no-event-log", folder=folder))
        words = ["governor", f"{HOST}:{port}", "--workdir", str(folder / "work")]
        governor, _ = stack.enter_context(rain_daemon("governor", *words, folder=folder))
        yield governor
