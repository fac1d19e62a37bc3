"""The embedded cluster: a server and governors as processes of this machine.

Each process is told two descriptors: on one it says "ready HOST:PORT" when it is, and the other
reports the end of a pipe when this process has gone, however it went. A small shell waits for the
end of all of them and removes their folder. The processes have a process group of their own, so
that Ctrl-C reaches only the program, which then stops them in order.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rain.client.local_daemon import STOP_SECONDS, Daemon, start_template, wait_for_copies
from rain.common.errors import RainException
from rain.common.secret_file import make_secret_file

_log = logging.getLogger("rain.client")


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
        self._daemons: list[Daemon] = []
        # Other users of this machine reach its ports, too.
        self.secret_file = self.folder / "secret"
        self.secret = make_secret_file(self.secret_file)
        self._closed = False
        self._alive_read, self._alive_write = os.pipe()
        self._janitor = _start_janitor(self.folder, self._alive_read)
        started = False
        try:
            server = self._daemon("server")
            server.start(
                [
                    *(*command, "server", "--listen", "127.0.0.1:0", "--no-http"),
                    *("--no-event-log", "--workdir", str(self.folder / "work-server")),
                    *self._secret(),
                ]
            )
            # What governors need is imported only once, and while the server starts.
            with start_template(command, self.folder) as template:
                address = server.wait_until_ready()
                for i in range(governors):
                    self._daemon(f"governor-{i}").order(
                        template,
                        [
                            *("governor", address, "--listen", "127.0.0.1:0"),
                            *("--cpus", str(share), "--share", f"{i}/{governors}"),
                            *("--workdir", str(self.folder / f"work-{i}")),
                            *(*governor_options, *self._secret()),
                        ],
                    )
                wait_for_copies(template, self.folder)
                several = self._daemons[1:]
                for governor, process in zip(several, template.copies(), strict=True):
                    governor.process = process
                template.release()
            for governor in several:
                governor.wait_until_ready()
            started = True
        finally:
            if not started:
                self.close(keep_logs=True)
        self.host, _, port = address.rpartition(":")
        self.port = int(port)

    def _daemon(self, name: str) -> Daemon:
        daemon = Daemon(name, self.folder / name, self._alive_write)
        self._daemons.append(daemon)
        return daemon

    def _secret(self) -> tuple[str, str]:
        return "--secret-file", str(self.secret_file)

    @property
    def pids(self) -> list[int]:
        """The processes: the server, the governors, and the shell that cleans up after them."""
        started = (daemon.process for daemon in self._daemons)
        daemons = [process.pid for process in started if process is not None]
        return [*daemons, self._janitor.pid]

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
