"""What a test has left behind: processes, threads, descriptors and files.

A footprint says what is there; the fixture `nothing_is_left` (tests/conftest.py) takes one before
each test that starts processes and one after it. All processes of tests are found by a word in
their environment, even those that are nobody's children any more; so they are told apart from
those of another run of the tests on the same machine. Temporary files of all of them are in a
folder of this run.

A cluster of a fixture with a wider scope may start executors, threads and connections in any test.
So they are looked at when the module ends, and after each test only what is not of that cluster.

A program that was killed cannot remove its folder. The next one does, and so it is done here before
a folder counts as left.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TypeVar

import structlog
from attrs import Factory, frozen

from rain.daemon.work_folder import remove_abandoned

Key = TypeVar("Key", bound=Hashable)

_TRIAL = re.compile(r"[a-z0-9_]{8}")

MARK = "RAIN_TESTS"
"""A variable in the environment of all processes of a run of the tests."""

SECONDS = 20.0
"""A process that was killed, and a thread that was told to end, may take a while on a busy
machine."""

BETWEEN = 0.01

SHARED_MEMORY = Path("/dev/shm")

FOLDERS_THAT_STAY = ("pytest-of-", "rain-one-", "rain-two-")
"""Below the temporary folder: those of pytest, and the certificates of all tests."""

PROCESSES_THAT_STAY = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""Python starts these once for each program."""

THREADS_THAT_STAY = ("Trio thread", "pytest_timeout", "fsspecIO", "asyncio_")
"""trio keeps threads for some seconds, and fsspec those of its loop; the watch of pytest-timeout is
not the test's."""

DESCRIPTORS_THAT_STAY = ("/memfd:rain-identity", "/dev/null", "/dev/urandom")
"""Identities are read once and kept as long as the program runs."""


@frozen
class Footprint:
    """What is there at one moment, each with a name that a reader understands."""

    processes: dict[int, str] = Factory(dict)
    threads: dict[int, str] = Factory(dict)
    descriptors: dict[tuple[int, str], str] = Factory(dict)
    files: dict[Path, str] = Factory(dict)

    @staticmethod
    def now() -> Footprint:
        """Of this process and all that it has started."""
        return Footprint(_processes(), _threads(), _descriptors(), _files())

    @property
    def has_cluster(self) -> bool:
        """Whether a cluster or a client lives."""
        has_client = any(name.startswith("rain-") for name in self.threads.values())
        return has_client or bool(self.processes or self.files)

    def beyond(self, before: Footprint) -> list[str]:
        """What is here and was not there before, sorted by kind."""
        new = {pid for pid in self.processes if pid not in before.processes}
        known = set(before.processes)
        if any(name.startswith("rain-here-") for name in before.files.values()):
            known.add(os.getpid())  # the cluster is in this program
        inherited = {pid for pid in new if _has_ancestor(pid, known)}
        left = [
            *(f"process {pid}: {self.processes[pid]}" for pid in sorted(new - inherited)),
            *_named("file", self.files, before.files),
        ]
        if not before.has_cluster:
            left += _named("thread", self.threads, before.threads)
            left += _named("descriptor", self.descriptors, before.descriptors)
        return left


def left_since(before: Footprint, patience: float = SECONDS) -> list[str]:
    """What is left for good: it is still there when some time has gone by."""
    late = time.monotonic() + patience
    left = Footprint.now().beyond(before)
    collected = False
    while left and time.monotonic() < late:
        if not collected:  # what waits in circles for the collector is not lost
            gc.collect()
            remove_abandoned(structlog.get_logger())
            collected = True
        else:
            time.sleep(BETWEEN)
        left = Footprint.now().beyond(before)
    return left


def none_left(starts_processes: bool) -> Iterator[None]:
    """Runs around a test: fails by name if it leaves anything."""
    if not starts_processes:
        yield
        return
    importlib.import_module("rain.rpc.schema")  # pycapnp keeps its files open from then on
    resource_tracker.ensure_running()  # Python keeps a pipe to it from then on

    before = Footprint.now()
    yield
    left = left_since(before)
    assert not left, "this is left:\n" + "\n".join(left)


def mark_all() -> str:
    """Lets this process and all that it starts be found; returns the word."""
    os.environ[MARK] = f"{os.getpid()}-{os.urandom(4).hex()}"
    return os.environ[MARK]


def _named(kind: str, here: Mapping[Key, str], before: Mapping[Key, str]) -> Iterable[str]:
    return (f"{kind}: {name}" for key, name in here.items() if key not in before)


def _processes() -> dict[int, str]:
    found: dict[int, str] = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):  # noqa: PTH208 # names only
        if pid == os.getpid() or not _is_ours(pid):
            continue
        command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        if command and not any(name in command for name in PROCESSES_THAT_STAY):
            found[pid] = command[:200]
    return found


def _is_ours(pid: int) -> bool:
    mark = f"{MARK}={os.environ.get(MARK, '')}".encode()
    return pid == os.getpid() or mark in _read(pid, "environ").split(b"\0")


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def _has_ancestor(pid: int, among: AbstractSet[int]) -> bool:
    while pid > 1:
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        if not fields:
            return True  # it has just ended
        pid = int(fields[1])
        if pid in among:
            return True
    return False


def _threads() -> dict[int, str]:
    return {
        id(thread): thread.name
        for thread in threading.enumerate()
        if not thread.name.startswith(THREADS_THAT_STAY)
    }


def _descriptors() -> dict[tuple[int, str], str]:
    found: dict[tuple[int, str], str] = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 # numbers, not paths
        try:
            target = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 # no path is meant
        except OSError:  # that of the listing itself
            continue
        # pytest changes the first three when it ends.
        if int(name) > 2 and not target.startswith(DESCRIPTORS_THAT_STAY):
            found[int(name), target] = f"{name} of this process, {target}"
    return found


def _files() -> dict[Path, str]:
    top = Path(tempfile.gettempdir())
    found = [
        path
        for path in _entries(top)
        if not path.name.startswith(FOLDERS_THAT_STAY) and not _is_trial(path)
    ]
    own = top / f"rain-{os.geteuid()}"
    if own in found:
        found.remove(own)
        found += _entries(own / "work")
    told = {path: str(path.relative_to(top)) for path in found}
    in_memory = (path for path in _entries(SHARED_MEMORY) if path.name.startswith("rain"))
    return told | {path: str(path) for path in in_memory if not _is_of_others(path)}


def _is_trial(path: Path) -> bool:
    """Whether Python has tried the temporary folder by this file, and was killed in that moment."""
    try:
        return _TRIAL.fullmatch(path.name) is not None and path.stat().st_size <= len(b"blat")
    except FileNotFoundError:  # it was not killed
        return True


def _is_of_others(path: Path) -> bool:
    """Whether a folder in shared memory belongs to a program of another run, which goes on."""
    pid = path.name.split("-")[-2:][0]  # see WorkFolder.in_shared_memory
    return pid.isdecimal() and bool(_read(int(pid), "cmdline")) and not _is_ours(int(pid))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
