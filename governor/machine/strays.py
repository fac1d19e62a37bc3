"""Kills processes that tasks have left behind.

A process that a task starts is in the process group of its executor and is killed with the group. A
process that has started its own session (`setsid`) is not, and a daemon is not even a child any
more. But both keep their environment. So every process that tasks start has a variable that says
where it comes from: words of the form TOKEN/e5 (an executor), TOKEN/r7 (a run of a program) and
TOKEN/s3 (a session), with a token for each governor. When one of these ends, the processes with its
word are killed.

A process that has cleared its environment is still found while it is a descendant of its executor.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import outcome

from rain.base.executor_protocol import ORIGIN
from rain.base.ids import SessionId
from rain.governor.machine.memory_files import below
from rain.governor.machine.process_groups import ProcessGroups
from rain.rpc.background import Background

ROUNDS = 100
"""The most scans for one word: a process may start others during a scan, perhaps for ever."""

PAUSE = 0.5
"""Seconds for which words are collected before all processes are scanned."""

SHARE = 0.05
"""The largest fraction of time that may be spent on scans."""


class Origin:
    """Makes the words of one governor."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(8)

    def executor(self, number: int) -> str:
        return f"{self.token}/e{number}"

    def run(self, number: int) -> str:
        return f"{self.token}/r{number}"

    def session(self, session: SessionId) -> str:
        return f"{self.token}/s{session}"


def marked(environment: Mapping[str, str], *words: str) -> dict[str, str]:
    """Adds these words to an environment; words of an enclosing governor stay."""
    return {**environment, ORIGIN: " ".join([*environment.get(ORIGIN, "").split(), *words])}


def kill_tree(pid: int) -> None:
    """Kills a process, its group and its descendants; it must not have been reaped yet."""
    descendants = below(pid)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _kill(descendants)


def kill_marked(words: Collection[str]) -> None:
    """Kills all processes that have one of these words."""
    for _ in range(ROUNDS):
        found = _find(words)
        if not found:
            return
        _kill(found)


def has_left(pid: int, word: str) -> bool:
    """Whether any process that a process has started still runs."""
    return any(map(_runs, below(pid))) or any(found != pid for found in _find([word]))


class Strays:
    """Kills the processes of words that have ended, in a thread, for many words at once."""

    def __init__(self, background: Background, groups: ProcessGroups | None = None) -> None:
        self._background = background
        self._groups = groups
        self._over: list[str] = []
        self._busy = False

    def end(self, word: str) -> None:
        """Kills the processes with this word soon."""
        self._over.append(word)
        self._plan(PAUSE)

    def _plan(self, pause: float) -> None:
        if self._over and not self._busy:
            self._busy = True
            self._background.later(pause, self._begin)

    def _begin(self) -> None:
        over, self._over = self._over, []

        def sweep() -> tuple[float, list[str]]:
            started = time.monotonic()
            ending = [] if self._groups is None else self._groups.end(over)
            kill_marked(over)
            return time.monotonic() - started, ending

        self._background.in_thread(sweep, self._done)

    def _done(self, swept: outcome.Outcome[tuple[float, list[str]]]) -> None:
        self._busy = False
        took, ending = swept.unwrap()
        self._over += ending
        self._plan(max(PAUSE, took / SHARE))


def _find(words: Collection[str]) -> list[int]:
    wanted = {word.encode() for word in words}
    begin = f"{ORIGIN}=".encode()
    found: list[int] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            environment = (Path(entry.path) / "environ").read_bytes()
        except OSError:  # it has ended or belongs to another user
            continue
        if begin in environment and wanted & _words(environment):
            found.append(int(entry.name))
    return found


def _words(environment: bytes) -> set[bytes]:
    begin = f"{ORIGIN}=".encode()
    for variable in environment.split(b"\0"):
        if variable.startswith(begin):
            return set(variable[len(begin) :].split())
    return set()


def _runs(pid: int) -> bool:
    """Whether a process has not ended; one that has may still wait for its parent."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
