"""The embedded cluster: a server and governors as processes of this machine.

Each process is told two descriptors: on one it says "ready HOST:PORT" when it is, and the other
reports the end of a pipe when this process has gone, however it went. A small shell waits for the
end of all of them and removes their folder. The processes have a process group of their own, so
that Ctrl-C reaches only the program, which then stops them in order.
"""

import logging
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rain.common.errors import RainException
from rain.common.secret_file import make_secret_file

_log = logging.getLogger("rain.client")

START_SECONDS = 60.0
STOP_SECONDS = 10.0
_TAIL = 2000

# Ends when the last holder of its input has gone; "keep" leaves the folder to whoever reads logs.
_JANITOR = 'test "$(cat)" = keep || rm -rf -- "$1"'


RAIN = (sys.executable, "-m", "rain")


class LocalCluster:
    """A server and its governors, until `close()` or the end of this process."""

    def __init__(
        self,
        cpus: int | None = None,
        governors: int = 1,
        command: Sequence[str] = RAIN,
        governor_options: Sequence[str] = (),
    ) -> None:
        if governors < 1 or (cpus is not None and cpus < 1):
            raise RainException("An embedded cluster needs at least one governor with one cpu")
        share = max(1, len(os.sched_getaffinity(0)) // governors) if cpus is None else cpus
        self.folder = Path(tempfile.mkdtemp(prefix="rain-local-"))
        self._daemons: list[_Daemon] = []
        # Other users of this machine reach its ports, too.
        self.secret_file = self.folder / "secret"
        self.secret = make_secret_file(self.secret_file)
        self._closed = False
        self._command = command
        self._alive_read, self._alive_write = os.pipe()
        self._janitor = _start_janitor(self.folder, self._alive_read)
        started = False
        try:
            server = self._start(
                "server",
                [
                    "server",
                    *("--listen", "127.0.0.1:0", "--no-http", "--no-event-log"),
                    *("--workdir", str(self.folder / "work-server")),
                ],
            )
            address = server.wait_until_ready()
            several = [
                self._start(
                    f"governor-{i}",
                    [
                        "governor",
                        address,
                        "--listen",
                        "127.0.0.1:0",
                        "--cpus",
                        str(share),
                        "--share",
                        f"{i}/{governors}",
                        "--workdir",
                        str(self.folder / f"work-{i}"),
                        *governor_options,
                    ],
                )
                for i in range(governors)
            ]
            for governor in several:
                governor.wait_until_ready()
            started = True
        finally:
            if not started:
                self.close(keep_logs=True)
        self.host, _, port = address.rpartition(":")
        self.port = int(port)

    def _start(self, name: str, args: Sequence[str]) -> "_Daemon":
        command = [*self._command, *args, "--secret-file", str(self.secret_file)]
        daemon = _Daemon(name, command, self.folder / name, self._alive_write)
        self._daemons.append(daemon)
        return daemon

    @property
    def pids(self) -> list[int]:
        """The processes: the server, the governors, and the shell that cleans up after them."""
        return [*(daemon.pid for daemon in self._daemons), self._janitor.pid]

    def close(self, keep_logs: bool = False) -> None:
        """Stops all processes, the governors first, and removes their folder.

        The folder stays when a process has ended by itself: its logs tell why, and a warning
        tells where they are.
        """
        if self._closed:
            return
        self._closed = True
        for daemon in self._daemons:
            status = daemon.status()
            if status is not None and not keep_logs:
                _log.warning(
                    "the embedded %s has ended by itself with status %d; all logs stay in %s",
                    daemon.name,
                    status,
                    self.folder,
                )
                keep_logs = True
        governors = self._daemons[1:]
        for group in (governors, self._daemons[:1]):
            for daemon in group:
                daemon.ask_to_stop()
            deadline = time.monotonic() + STOP_SECONDS
            for daemon in group:
                daemon.stop(deadline)
        if keep_logs:
            os.write(self._alive_write, b"keep")
        os.close(self._alive_read)
        os.close(self._alive_write)
        self._janitor.wait()


class _Daemon:
    """One process of the cluster."""

    def __init__(self, name: str, command: Sequence[str], logs: Path, alive_write: int) -> None:
        self.name = name
        self.logs = logs
        logs.mkdir()
        self._ready_read, ready_write = os.pipe()
        # This end of the parent's pipe is ours alone, so that it ends with this process.
        parent_read, self._parent_write = os.pipe()
        command = [
            *command,
            *("--logdir", str(logs / "logs")),
            *("--ready-fd", str(ready_write)),
            *("--parent-fd", str(parent_read)),
        ]
        try:
            with (logs / "output").open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    # The write end of the janitor's pipe: it ends when the process does.
                    pass_fds=(ready_write, parent_read, alive_write),
                    process_group=0,
                )
        finally:
            os.close(ready_write)
            os.close(parent_read)

    def wait_until_ready(self) -> str:
        """The address that the process serves; RainException when it ends or says nothing."""
        deadline = time.monotonic() + START_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._ready_read], [], [], left)[0]:
                raise RainException(
                    f"The embedded {self.name} is not ready after {START_SECONDS:.0f} seconds;"
                    f" its logs are in {self.logs}"
                )
            piece = os.read(self._ready_read, 256)
            if not piece:
                raise RainException(self._why_it_ended())
            line += piece
        return line.decode().split()[1]

    def _why_it_ended(self) -> str:
        status = self._process.wait()
        output = (self.logs / "output").read_text(errors="replace")[-_TAIL:].strip()
        ending = f"\n{output}" if output else ""
        return (
            f"The embedded {self.name} ended with status {status} before it was ready;"
            f" its logs are in {self.logs}{ending}"
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def status(self) -> int | None:
        """How the process has ended, None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        self._process.terminate()

    def stop(self, deadline: float) -> None:
        """Waits for the end of the process, which comes by force after the deadline."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._ready_read)
        os.close(self._parent_write)


def _start_janitor(folder: Path, alive_read: int) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _JANITOR, "rain-janitor", str(folder)],
            stdin=alive_read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except OSError:
        shutil.rmtree(folder)
        raise
