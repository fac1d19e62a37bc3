"""Reads from the kernel how much memory processes use, and how many it has killed for lack of
memory.

The memory of a process is its private memory (`RssAnon`): the heap, not the files that it maps.
Swapped-out memory (`VmSwap`) counts as well, because the process will need it again. Mapped objects
of the store exist once for all processes, and count for the store. The code of the program does not
count either: the kernel can drop it and read it again.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from pathlib import Path

from rain.governor.core.events import KernelKill
from rain.governor.machine.memory_wall import MemoryWall
from rain.stream.room import known_memory_left, lines

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = "/proc"

OF_EXECUTORS = 500
OF_THE_GOVERNOR = -500
"""The OOM scores of executors and programs, and of the governor (`prefer_to_kill`)."""

_FORGET_PEAK = b"5"
"""Written to `clear_refs`: the peak of a process is what it has now."""


def own(pid: int) -> int:
    """Bytes that a process has of its own; 0 if it has ended."""
    try:
        _, resident, shared, *_ = _read(f"{_PROC}/{pid}/statm").split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE


def mapped(pid: int) -> int:
    """Bytes of files that a process has in its memory, its code included; 0 if it has ended."""
    try:
        return int(_read(f"{_PROC}/{pid}/statm").split()[2]) * _PAGE
    except OSError:
        return 0


def swapped(pid: int) -> int:
    """Bytes of a process that are in swap; 0 if it has ended."""
    return sum(_sizes(pid, {b"VmSwap"}).values())


def swaps(root: Path = Path("/")) -> bool:
    """Whether anything is in swap on this machine; only then processes need to be asked."""
    areas = [line.split() for line in lines(root / "proc/swaps")[1:]]
    return any(used != "0" for _, _, _, used, _ in areas)


def below(pid: int) -> list[int]:
    """All descendants of a process that the kernel reports."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = list(_children(waiting.pop()))
        found += children
        waiting += children
    return found


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):  # it has ended
        for thread in os.listdir(f"{_PROC}/{pid}/task"):  # noqa: PTH208 # pathlib is slow, and this is often
            yield from map(int, _read(f"{_PROC}/{pid}/task/{thread}/children").split())


def take_peak(pid: int) -> tuple[int, int]:
    """The peak of a process since this was last asked, and the files that are left out; or zeros.

    The kernel keeps only the peak of all that it had, so files count that it has mapped meanwhile
    and does not map any more. Those that it has now are left out.
    """
    sizes = _sizes(pid, {b"VmHWM", b"RssFile", b"RssShmem", b"VmSwap"})
    with suppress(OSError):
        Path(f"{_PROC}/{pid}/clear_refs").write_bytes(_FORGET_PEAK)
    files = sizes.get(b"RssFile", 0) + sizes.get(b"RssShmem", 0)
    return max(sizes.get(b"VmHWM", 0) - files, 0) + sizes.get(b"VmSwap", 0), files


def _sizes(pid: int, names: Container[bytes]) -> dict[bytes, int]:
    """These sizes of a process, in bytes; none if it has ended."""
    sizes: dict[bytes, int] = {}
    with suppress(OSError):
        for line in _read(f"{_PROC}/{pid}/status").splitlines():
            name, _, amount = line.partition(b":")
            if name in names:
                sizes[name] = int(amount.split()[0]) * 1024
    return sizes


def left_here(root: Path = Path("/")) -> int:
    """Bytes that are free in the machine and in our control groups; -1 if that is unknown."""
    left = known_memory_left(root)
    return -1 if left is None else left


def sessions_here() -> dict[int, list[int]]:
    """All processes of this machine by their sessions, each of which has its leader's number.

    What a process starts is in its session, even if its parent has ended. Nothing is read that a
    process locks while it forks: these looks find bombs of forks.
    """
    found: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):  # noqa: PTH208 # as above
        if name.isdigit():
            with suppress(OSError):  # it has ended
                words = _read(f"{_PROC}/{name}/stat").rpartition(b")")[2].split()
                found.setdefault(int(words[3]), []).append(int(name))
    return found


def processes_here() -> int:
    """How many processes and threads this machine has."""
    return int(_read(f"{_PROC}/loadavg").split()[3].rpartition(b"/")[2])


REMEMBERED_SECONDS = 10.0
"""The longest time from a kill by the kernel to the report of the process's end."""


class KernelKills:
    """Counts the processes that the kernel has killed because memory had run out.

    The kernel counts before the process has ended: to give back all of its memory takes a while.
    """

    def __init__(
        self,
        wall: MemoryWall | None = None,
        proc: Path = Path(_PROC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = proc / "vmstat"
        self._clock = clock
        self._wall = wall
        self._at_wall = 0  # of those, the ones at the wall
        self._count = self._read()  # of those that were taken or concerned others
        self._seen: deque[tuple[float, int, int]] = deque()  # when there were more, and how many

    def take_one(self) -> KernelKill | None:
        """Takes one that the kernel has killed and that was not taken here, if there is one."""
        if self._read() <= self._count:
            return None
        self._count += 1
        wall = self._wall
        if wall is None or wall.kills() <= self._at_wall:
            return KernelKill()
        self._at_wall += 1
        return KernelKill(wall.limit, wall.shared())

    def forget(self) -> None:
        """Kills that were not taken for so long concerned other processes."""
        now, count = self._clock(), self._read()
        if count > (self._seen[-1][1] if self._seen else self._count):
            self._seen.append((now, count, 0 if self._wall is None else self._wall.kills()))
        while self._seen and now - self._seen[0][0] >= REMEMBERED_SECONDS:
            _, count, at_wall = self._seen.popleft()
            self._count = max(self._count, count)
            self._at_wall = max(self._at_wall, at_wall)

    def _read(self) -> int:
        with suppress(OSError):
            for line in self._file.read_bytes().splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        return 0


def prefer_to_kill(pid: int, score: int) -> None:
    """Sets the OOM score of a process: the kernel kills 1000 first, -1000 never.

    A process may always be made a better target. To make one a worse one needs a right, and without
    it nothing changes.
    """
    with suppress(OSError):
        Path(f"{_PROC}/{pid}/oom_score_adj").write_text(str(score))


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 # as above
        return file.read()
