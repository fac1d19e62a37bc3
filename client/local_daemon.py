"""One process of the embedded cluster: its pipes, its folder, its start and its end.

It is started as a program of its own, or as a copy of a process that has imported all it needs
(`rain.daemon.template`).
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from rain.common.errors import RainException
from rain.common.signals import signal_name
from rain.daemon.template import Template

START_SECONDS = 60.0
STOP_SECONDS = 10.0
_TAIL = 2000


class Process(Protocol):
    """A child process of this one."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...


class Daemon:
    """A process of the cluster, from before its start to its end."""

    def __init__(self, name: str, logs: Path, alive_write: int) -> None:
        self.name = name
        self.logs = logs
        logs.mkdir()
        self.process: Process | None = None
        # The write end of the janitor's pipe: it ends when the process does.
        self._alive_write = alive_write
        self._ready_read, self._ready_write = os.pipe()
        # This end of the parent's pipe is ours alone, so that it ends with this process.
        self._parent_read, self._parent_write = os.pipe()
        self._closed = False

    def start(self, command: Sequence[str]) -> None:
        """Starts it as a program."""
        options = self._options()
        given = (word for name, number in options.items() for word in (name, str(number)))
        with self._output() as output:
            self.process = subprocess.Popen(
                [*command, *self._log_folder(), *given],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(*options.values(), self._alive_write),
                process_group=0,
            )

    def order(self, template: Template, arguments: Sequence[str]) -> None:
        """Orders it as a copy of the template process; its `process` is set later."""
        with self._output() as output:
            template.order(
                self.name,
                [*arguments, *self._log_folder()],
                output,
                output,
                self._options(),
                (self._alive_write,),
            )

    def _log_folder(self) -> tuple[str, str]:
        return "--logdir", str(self.logs / "logs")

    def _options(self) -> dict[str, int]:
        return {"--ready-fd": self._ready_write, "--parent-fd": self._parent_read}

    @contextmanager
    def _output(self) -> Generator[IO[bytes]]:
        """The file for its output. After the start only the process has this file and the pipes
        open.
        """
        try:
            with (self.logs / "output").open("wb") as output:
                yield output
        finally:
            os.close(self._ready_write)
            os.close(self._parent_read)

    def wait_until_ready(self) -> str:
        """The address that the process serves, and behind a space that of its HTTP if there is one.

        RainException when it ends or says nothing.
        """
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
        first = line.decode().splitlines()[0]  # a note may follow
        return first.partition(" ")[2].strip()

    def _why_it_ended(self) -> str:
        status = self._started().wait()
        return _why_ended(self.name, status, self.logs, self.logs / "output")

    def _started(self) -> Process:
        if self.process is None:
            raise AssertionError(f"{self.name} was not started")
        return self.process

    def status(self) -> int | None:
        """How the process has ended, None while it runs or when it never did."""
        return None if self.process is None else self.process.poll()

    @property
    def pid(self) -> int:
        return self._started().pid

    def end(self) -> int:
        """The status of a process that has ended; lets go of its pipes."""
        status = self._started().wait()
        self._close()
        return status

    def wait(self, seconds: float) -> int | None:
        """How it has ended, if it does within these seconds."""
        try:
            return self._started().wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def ask_to_stop(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def stop(self, deadline: float) -> None:
        """Waits for the end of the process, which comes by force after the deadline."""
        if self.process is not None:
            try:
                self.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._ready_read)
            os.close(self._parent_write)


def spell_end(status: int) -> str:
    """How a process has ended, by its status as `subprocess` gives it."""
    if status < 0:
        return f"was killed by {signal_name(-status)}"
    return f"has ended with status {status}"


def start_template(command: Sequence[str], folder: Path) -> Template:
    """The process that governors are copies of."""
    with _output_of_template(folder).open("wb") as output:
        return Template(command, output, output, new_session=False)


def wait_for_copies(template: Template, folder: Path) -> None:
    """Returns when all processes are ready; raises RainException when one cannot be."""
    deadline = time.monotonic() + START_SECONDS
    while not template.complete:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([template], [], [], left)[0]:
            raise RainException(
                f"No embedded governor runs after {START_SECONDS:.0f} seconds; the process that"
                f" starts them writes to {_output_of_template(folder)}"
            )
        if not template.hear():
            status = template.process.wait()
            raise RainException(
                _why_ended("governors", status, folder, _output_of_template(folder))
            )


def _output_of_template(folder: Path) -> Path:
    return folder / "governors.output"


def _why_ended(name: str, status: int, folder: Path, output: Path) -> str:
    said = output.read_text(errors="replace")[-_TAIL:].strip()
    ending = f"\n{said}" if said else ""
    return (
        f"The embedded {name} ended with status {status} before it was ready;"
        f" its logs are in {folder}{ending}"
    )
