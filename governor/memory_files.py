"""What the kernel says about the memory of processes, and which of them it has killed.

The memory of a process is its private memory (`RssAnon`): the heap, not the files that it maps.
Mapped objects of the store exist once for all processes, and count for the store. The code of the
program does not count either: the kernel can drop it and read it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rain.stream.room import known_memory_left

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


def take_peak(pid: int) -> int:
    """The peak of a process since this was last asked; 0 if it has ended.

    The kernel keeps only the peak of all that it had, so files count that it has mapped meanwhile
    and does not map any more.
    """
    sizes: dict[bytes, int] = {}
    try:
        for line in _read(f"{_PROC}/{pid}/status").splitlines():
            name, _, amount = line.partition(b":")
            if name in {b"VmHWM", b"RssFile", b"RssShmem"}:
                sizes[name] = int(amount.split()[0]) * 1024
        Path(f"{_PROC}/{pid}/clear_refs").write_bytes(_FORGET_PEAK)
    except OSError:
        pass
    mapped = sizes.get(b"RssFile", 0) + sizes.get(b"RssShmem", 0)
    return max(sizes.get(b"VmHWM", 0) - mapped, 0)


def left_here(root: Path = Path("/")) -> int:
    """Bytes that are free in the machine and in our control groups; -1 if that is unknown."""
    left = known_memory_left(root)
    return -1 if left is None else left


class KernelKills:
    """Counts the processes that the kernel has killed because memory had run out."""

    def __init__(self, proc: Path = Path(_PROC)) -> None:
        self._file = proc / "vmstat"
        self._count = self._read()

    def take_one(self) -> bool:
        """Whether the kernel has killed one more process than were taken here; takes it."""
        if self._read() <= self._count:
            return False
        self._count += 1
        return True

    def forget(self) -> None:
        """All kills that were not taken concerned other processes."""
        self._count = self._read()

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
