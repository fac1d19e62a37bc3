"""The embedded cluster: a server and governors as processes of this machine, or one process.

Each process gets two descriptors. It writes "ready HOST:PORT" to the first one when it is ready.
The second one is a pipe that ends when this process has ended, in whatever way. A small shell waits
for the end of all processes and removes their folder. The processes have a process group of their
own, so that Ctrl-C reaches only the program, which then stops them in order.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from rain.base.address import LOOPBACK
from rain.client.local_daemon import (
    STOP_SECONDS,
    Daemon,
    spell_end,
    start_template,
    wait_for_copies,
)
from rain.client.local_keeper import Keeper
from rain.common.errors import RainException
from rain.common.secret_file import make_secret_file
from rain.daemon.standard_descriptors import fill_standard_descriptors
from rain.daemon.work_folder import WorkFolder, remove_abandoned_clusters

_log = logging.getLogger("rain.client")


# Ends when the last holder of its input has gone; "keep" leaves the folder for readers of logs. The
# shell reads itself: a program that reads for it may be missing, refused or killed, and what it has
# not said would be taken for the end of all.
_JANITOR = 'read -r word; test "$word" = keep || rm -rf -- "$1"'


DYING_SECONDS = 1.0
"""How long it may take from the end of a daemon's connection to its own."""

RAIN = (sys.executable, "-m", "rain")


def check_count(count: object, what: str) -> None:
    """Raises RainException if a number of cpus or governors is none."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise RainException(f"{what} is {count!r}; it must be a whole number, and at least 1")


def check_python() -> None:
    """Raises RainException where `sys.executable` is no Python.

    A frozen program would start itself again, which would start a cluster, and so on.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        raise RainException(
            f"Client() cannot start a cluster here: it needs Python, and {sys.executable!r} is this"
            " program itself, frozen or with Python inside; write Client(local=True), or start a"
            " cluster with 'rain start --simple' and write Client('localhost', 7210)"
        )


class LocalCluster:
    """A server and its governors, until `close()` or the end of this process."""

    def __init__(
        self,
        cpus: int | None = None,
        governors: int = 1,
        command: Sequence[str] = RAIN,
        governor_options: Sequence[str] = (),
        server_options: Sequence[str] = (),
        *,
        dashboard: bool = False,
    ) -> None:
        check_python()
        check_count(governors, "governors")
        if cpus is not None:
            check_count(cpus, "cpus")
        fill_standard_descriptors()
        share = max(1, len(os.sched_getaffinity(0)) // governors) if cpus is None else cpus
        self._work = WorkFolder.of_cluster("local")
        self.folder = self._work.path
        self.host, self.port = LOOPBACK, 0  # until the server says which one
        self._command = tuple(command)
        self._offer = ("--cpus", str(share), *governor_options)
        self._of_server = (*(() if dashboard else ("--dashboard-on-demand",)), *server_options)
        self._server: Daemon | None = None
        self._governors: list[Daemon] = []
        self._started = 0  # governors until now
        self._keeper: Keeper | None = None
        self._was_asked = False  # how the server has ended
        # Other users of this machine reach its ports, too.
        self.secret_file = self.folder / "secret"
        self.secret = make_secret_file(self.secret_file)
        self._closed = False
        self._alive_read, self._alive_write = os.pipe()
        self._janitor = _start_janitor(self._work, self._alive_read)
        started = False
        try:
            if governors == 1:
                self._hear_of(self._start_server(with_governor=True))
            else:
                self._start_apart(governors)
            started = True
        except (KeyboardInterrupt, SystemExit):
            self.close()  # no logs are needed if the program is interrupted
            raise
        finally:
            if not started:
                self.close(keep_logs=True)

    def _start_apart(self, governors: int) -> None:
        """Each is a process, and a governor that dies is replaced."""
        server = self._start_server(with_governor=False)
        # The modules of governors are imported only once, and while the server starts.
        with start_template(self._command, self.folder) as template:
            self._hear_of(server)
            for i in range(governors):
                governor = self._governor(f"governor-{i}")
                self._governors.append(governor)
                governor.order(template, self._arguments(i, governors))
            wait_for_copies(template, self.folder)
            for governor, process in zip(self._governors, template.copies(), strict=True):
                governor.process = process
            template.release()
        for governor in self._governors:
            governor.wait_until_ready()

    def _start_server(self, *, with_governor: bool) -> Daemon:
        """With its governor, both are one process (`rain.embedded`)."""
        # No other governor can join a program's only one, which is never replaced either.
        alone = ("--infeasible-grace", "0") if with_governor else ()
        of_server = [
            *("server", "--listen", f"{self.host}:{self.port}", *alone, *self._of_server),
            *("--workdir", str(self.folder / "work-server"), *self._secret()),
        ]
        both = ["embedded", *self._arguments(0, 1), *of_server]
        server = self._server = Daemon("server", self.folder / "server", self._alive_write)
        server.start([*self._command, *(both if with_governor else of_server)])
        remove_abandoned_clusters("local")  # after a kill -9 of all
        return server

    def _hear_of(self, server: Daemon) -> None:
        """Waits until the server is ready, and reads its addresses."""
        address, _, self.http = server.wait_until_ready().partition(" ")
        self.host, _, port = address.rpartition(":")
        self.port = int(port)

    def watch(self, give_up: Callable[[], object]) -> None:
        """Replaces governors that die from now on; `give_up` is called when that does not help.

        It is called in a thread. `why_lost` then says what has died.
        """
        if self._server is not None:
            self._keeper = Keeper(
                self._server, self._governors, self._another, self.folder, give_up
            )

    def why_lost(self) -> str:
        """The process that has died, to explain a lost connection to the server; "" for none."""
        if self._keeper is not None and self._keeper.verdict:
            return self._keeper.verdict
        if self._server is None or self._closed:
            return ""
        # The sockets of a process that dies are closed just before its end can be waited for.
        patience, self._was_asked = 0.0 if self._was_asked else DYING_SECONDS, True
        status = self._server.wait(patience)
        if status is None:
            return ""
        return f"the embedded server {spell_end(status)}; all logs are in {self.folder}"

    def _another(self, number: int) -> Daemon:
        """Starts a governor in the place of one that has died."""
        governor = self._governor(f"governor-{number}.{self._started}")
        try:
            governor.start([*self._command, *self._arguments(number, len(self._governors))])
        except OSError:
            governor.stop(0.0)
            raise
        return governor

    def _governor(self, name: str) -> Daemon:
        self._started += 1
        return Daemon(name, self.folder / name, self._alive_write)

    def _arguments(self, number: int, governors: int) -> list[str]:
        """How the governor of this number is started, in a work folder that was never used."""
        work = self.folder / f"work-{number}.{self._started}"
        return [
            *("governor", f"{self.host}:{self.port}", "--listen", f"{LOOPBACK}:0"),
            *("--share", f"{number}/{governors}", "--workdir", str(work)),
            *(*self._offer, *self._secret()),
        ]

    @property
    def _daemons(self) -> list[Daemon]:
        return [*([] if self._server is None else [self._server]), *self._governors]

    def _secret(self) -> tuple[str, ...]:
        return "--secret-file", str(self.secret_file), "--tls", "none"  # whatever RAIN_TLS says

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
        if self._keeper is not None:
            self._keeper.stop()
            keep_logs = keep_logs or self._keeper.has_seen_a_death
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
        for group in (self._governors, [] if self._server is None else [self._server]):
            for daemon in group:
                daemon.ask_to_stop()
            deadline = time.monotonic() + STOP_SECONDS
            for daemon in group:
                daemon.stop(deadline)
        if keep_logs:
            self._work.keep()
            os.write(self._alive_write, b"keep")
        os.close(self._alive_read)
        os.close(self._alive_write)
        self._janitor.wait()


def _start_janitor(work: WorkFolder, alive_read: int) -> "subprocess.Popen[bytes]":
    """Starts the shell. From then on it alone holds the lock of the folder. If it is killed, too,
    the next program removes the folder.
    """
    try:
        janitor = subprocess.Popen(
            ["/bin/sh", "-c", _JANITOR, "rain-janitor", str(work.path)],
            stdin=alive_read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=work.lock,
            process_group=0,
        )
    except OSError:
        work.remove()
        raise
    work.let_go()
    return janitor
