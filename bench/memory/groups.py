"""A control group with a memory limit for all processes of one measurement, and what they have.

Memory is what the kernel cannot drop: heaps, and shared memory such as `/dev/shm`. Pages of files
on the disk do not count, since the kernel takes them back when it needs them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import frozen

from bench.marks import marked
from rain.governor.machine.memory_files import own
from rain.stream.room import lines

SYSTEM = Path("/sys/fs/cgroup")
END_SECONDS = 30.0
GLANCE_SECONDS = 0.05

_V1 = {"limit": "memory.limit_in_bytes", "kills": "memory.oom_control"}
_V2 = {"limit": "memory.max", "kills": "memory.events"}


@frozen
class Group:
    """A control group of either version, made for one measurement."""

    folder: Path
    names: dict[str, str]

    def used(self) -> int:
        """Bytes that its processes have now."""
        told = _counts(self.folder / "memory.stat")
        heaps = told.get("total_rss", told.get("anon", 0))
        return heaps + told.get("total_shmem", told.get("shmem", 0))

    def kills(self) -> int:
        """How many of its processes the kernel has killed for want of memory."""
        return _counts(self.folder / self.names["kills"]).get("oom_kill", 0)

    def end(self) -> None:
        """Kills what is left in it, and removes it."""
        late = time.monotonic() + END_SECONDS
        while pids := lines(self.folder / "cgroup.procs"):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if time.monotonic() > late:
                raise TimeoutError(f"processes {' '.join(pids)} of {self.folder} do not end")
            time.sleep(GLANCE_SECONDS)
        self.folder.rmdir()


@frozen
class Marked:
    """The processes with a mark in their environment, where there is no control group for us."""

    mark: str
    shared_before: int

    folder: None = None

    def used(self) -> int:
        """Bytes that they have now; shared memory counts wherever it has grown."""
        return sum(map(own, marked(self.mark))) + max(_shared() - self.shared_before, 0)

    def kills(self) -> int:
        """Nobody knows here which processes the kernel has killed."""
        return 0


@contextmanager
def bounded(limit: int, mark: str) -> Generator[Group | Marked, None, None]:
    """A group with this limit, or, where we may not make one, only a look at marked processes."""
    group = _made(limit)
    if group is None:
        yield Marked(mark, _shared())
        return
    try:
        yield group
    finally:
        group.end()


def _made(limit: int) -> Group | None:
    for parent, names in _own():
        folder = parent / f"rain-bench-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / names["limit"]).write_text(str(limit))
        except OSError:  # memory is not handed down to groups of ours
            folder.rmdir()
            continue
        return Group(folder, names)
    return None


def _own() -> Iterator[tuple[Path, dict[str, str]]]:
    """The groups of this process that may bound memory."""
    for line in lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield SYSTEM / "memory" / path.lstrip("/"), _V1
        elif not controllers:
            yield SYSTEM / path.lstrip("/"), _V2


def _counts(path: Path) -> dict[str, int]:
    """A file of the kernel with a name and a number on each line."""
    words = (line.split() for line in lines(path))
    return {name: int(number) for name, number in words}


def _shared() -> int:
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return (status.f_blocks - status.f_bfree) * status.f_frsize
