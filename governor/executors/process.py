"""Starts one executor process, and describes how it ended.

The process leads its own session and process group, so that everything that its tasks have started
ends with it. It is started from the main thread, because the kernel ties the parent-death signal to
the thread that created the process.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from attrs import Factory, frozen

from rain.base import executor_protocol as protocol
from rain.base.admission import TLS_FILE
from rain.base.executor_protocol import SERVER
from rain.common.printed import NOTHING, KeptText, Streams, empty, keep, keep_of, readable
from rain.common.secret_file import VARIABLE as SECRET_FILE
from rain.common.signals import signal_name
from rain.daemon.packages import python_path
from rain.governor.machine.strays import Origin, kill_tree, marked

if TYPE_CHECKING:
    from rain.governor.environments.folder import MadeEnvironment

TAIL_OF_A_START = 600
TAIL_OF_A_TASK = 4096

SOCKET = "socket"
SOCKET_PATH = "RAIN_EXECUTOR_SOCKET"
"""The environment variable with the socket for executors of other languages."""


@frozen
class Places:
    """The folders of executors, their logs and the stored data."""

    work: Path
    logs: Path
    data: Path
    server: str = ""  # for tasks that extend their session: address of the server, secret
    secret_file: Path | None = None
    tls_file: Path | None = None  # with which tasks are clients
    origin: Origin = Factory(Origin)
    shared: Path | None = None  # stored data in shared memory

    def environment(self, number: int) -> dict[str, str]:
        """Returns the variables that an executor gets in addition to the governor's environment."""
        environment = marked(os.environ, self.origin.executor(number))
        environment.pop(SECRET_FILE, None)
        environment.pop(TLS_FILE, None)
        if self.server:
            environment[SERVER] = self.server
        if self.secret_file is not None:
            environment[SECRET_FILE] = str(self.secret_file)
        if self.tls_file is not None:
            environment[TLS_FILE] = str(self.tls_file)
        return environment

    def folder(self, number: int) -> Path:
        return self.work / str(number)

    def stages(self, number: int) -> list[Path]:
        """Where an executor of Python leaves its outputs."""
        found = [self.folder(number) / "stage"]
        if self.shared is not None:
            found.append(self.shared / f"stage-{number}")
        return found

    def log(self, number: int, stream: str) -> Path:
        return self.logs / f"executor-{number}.{stream}"


@frozen
class StartedProgram:
    """A running executor of another language, and the socket to which it will connect."""

    process: subprocess.Popen[bytes]
    listener: socket.socket


@frozen
class Started:
    """A running process and our ends of the channels."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    tokens: int  # write here
    taken_tokens: int  # the executor's end, to take calls back
    stops: int  # write here
    answers: int


def start_executor(number: int, places: Places, made: MadeEnvironment | None = None) -> Started:
    """Starts the process; raises OSError if the system refuses."""
    folder = places.folder(number)
    folder.mkdir()
    with ExitStack() as ours, ExitStack() as theirs:
        our_socket, their_socket = socket.socketpair()
        ours.callback(our_socket.close)
        theirs.callback(their_socket.close)
        taken_tokens, tokens = _pipe(ours, ours)
        their_stops, stops = _pipe(theirs, ours)
        answers, their_answers = _pipe(ours, theirs)
        out = theirs.enter_context(_log_to_read(places.log(number, "out")))
        err = theirs.enter_context(_log_to_read(places.log(number, "err")))
        environment = _environment(number, places, made)
        environment[protocol.SOCKET_FD] = str(their_socket.fileno())
        environment[protocol.TOKENS_FD] = str(taken_tokens)
        environment[protocol.STOPS_FD] = str(their_stops)
        environment[protocol.ANSWERS_FD] = str(their_answers)
        process = subprocess.Popen(
            [sys.executable if made is None else made.python, "-u", "-m", "rain.executor"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(their_socket.fileno(), taken_tokens, their_stops, their_answers),
            start_new_session=True,
        )
        ours.pop_all()
    for descriptor in (taken_tokens, stops, answers):
        os.set_blocking(descriptor, False)
    return Started(process, our_socket, tokens, taken_tokens, stops, answers)


def start_program(number: int, words: Sequence[str], places: Places) -> StartedProgram:
    """Starts an executor of another language, which must connect to `socket` in its folder."""
    folder = places.folder(number)
    folder.mkdir()
    with ExitStack() as ours, ExitStack() as theirs:
        listener = socket.socket(socket.AF_UNIX)
        ours.callback(listener.close)
        listener.setblocking(False)
        # A socket path may have only about 100 bytes; the path via the descriptor is short.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        theirs.callback(os.close, descriptor)
        listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
        listener.listen(1)
        out = theirs.enter_context(_log_to_read(places.log(number, "out")))
        err = theirs.enter_context(_log_to_read(places.log(number, "err")))
        process = subprocess.Popen(
            words,
            cwd=folder,
            env={
                **places.environment(number),
                SOCKET_PATH: str(folder / SOCKET),
                protocol.EXECUTOR_ID: str(number),
            },
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        ours.pop_all()
    return StartedProgram(process, listener)


def _log_to_read(path: Path) -> BinaryIO:
    """Creates a log that is read and emptied after each call; the next words begin at its start.

    Those who clean the temporary folder may have removed its folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path.open("a+b")


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    reading.callback(os.close, reader)
    writing.callback(os.close, writer)
    return reader, writer


def _environment(number: int, places: Places, made: MadeEnvironment | None) -> dict[str, str]:
    environment = places.environment(number)
    # The executor starts in another folder, but must find the same packages as the governor.
    if made is not None:
        environment = made.added_to(environment)
    else:
        environment["PYTHONPATH"] = python_path(environment.get("PYTHONPATH"))
    # `hash(text) % parts` must choose the same part in every process of every machine.
    if environment.get("PYTHONHASHSEED", "random") in {"", "random"}:
        environment["PYTHONHASHSEED"] = "0"
    environment[protocol.EXECUTOR_ID] = str(number)
    environment[protocol.GOVERNOR_PID] = str(os.getpid())
    environment[protocol.DATA_FOLDER] = str(places.data)
    if places.shared is not None:
        environment[protocol.SHARED_FOLDER] = str(places.shared)
    return environment


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and all that it started; it must not have been reaped yet."""
    kill_tree(process.pid)


def place_reached(number: int, places: Places) -> int:
    """The call of a unit that the dead process had reached; 0 for none or if it is not known."""
    path = places.folder(number) / protocol.PLACE_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # it never had a unit, or a task has put something else there
        return 0
    try:
        return int.from_bytes(os.read(descriptor, protocol.PLACE), "little")
    except OSError:  # as above
        return 0
    finally:
        os.close(descriptor)


def cause_of_death(number: int, status: int, places: Places, tail: int, fault: str = "") -> str:
    """How the process ended and the end of its logs; `fault` says why it was killed."""
    if fault and status == -signal.SIGKILL:
        lines = [f"executor {number} {fault}"]
    else:
        lines = [f"executor {number} {_ending(status)}" + (f" after it {fault}" if fault else "")]
    for stream, name in (("out", "stdout"), ("err", "stderr")):
        said = _tail(places.log(number, stream), tail)
        if said:
            lines.append(f"Last bytes of its {name}:\n{said.rstrip()}")
        else:
            lines.append(f"Its {name} is empty.")
    return "\n".join(lines)


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    hint = f" (the kernel does this {_when_killed()})" if -status == signal.SIGKILL else ""
    return f"was killed by {signal_name(-status)}{hint}"


def _when_killed() -> str:
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limited = (
        "" if most == resource.RLIM_INFINITY else f", or after {most} s of CPU time: ulimit -t"
    )
    return f"when memory runs out{limited}"


def printed_so_far(number: int, places: Places) -> Streams:
    """The output of the running task, or of the last one: the log contains nothing else."""
    return keep_of(str(places.log(number, "out"))), keep_of(str(places.log(number, "err")))


def take_printed(number: int, places: Places) -> Streams:
    """Takes what an executor has printed that does not do so itself: its log is empty then."""
    return _taken(places.log(number, "out")), _taken(places.log(number, "err"))


def _taken(path: Path) -> KeptText:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # the log folder was tidied up
        return NOTHING
    try:
        size = os.fstat(descriptor).st_size
        if not size:
            return NOTHING
        kept = keep(descriptor, size)
        empty(descriptor, size)
        return kept
    finally:
        os.close(descriptor)


def _tail(path: Path, size: int) -> str:
    """The end of a log; nothing if the log folder was tidied up."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - size, 0))
            return readable(file.read(size))
    except FileNotFoundError:
        return ""
